/** Up to this many times the usual time is noise. */
const NOISE = 1.25;
/** Twice the usual time is half as healthy. */
const STEEPNESS = 1 / (2 - NOISE);

/** 1 = as fast as peers or faster, 0.5 = twice as slow, towards 0. What is not known is 1. */
export function paceFactor(pace: number | null, usual: number | null): number {
  if (pace === null || usual === null || !(usual > 0)) return 1;
  const times = pace / usual;
  return times <= NOISE ? 1 : 1 / (1 + (times - NOISE) * STEEPNESS);
}

/** 1 = no errors; nothing is left at a rate of 1 / `steepness`. */
export function errorFactor(rate: number, steepness = 3): number {
  return Math.max(0, 1 - steepness * rate);
}
