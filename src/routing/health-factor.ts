/** Up to this many times the usual time is noise. */
const NOISE = 1.25;
/** From so many times on the factor is one by the times; in between it falls in a straight line. */
const PLAIN = 1.5;

/** 1 = as fast as peers or faster, 0.5 = twice as slow, towards 0. What is not known is 1. */
export function paceFactor(pace: number | null, usual: number | null): number {
  if (pace === null || usual === null || !(usual > 0)) return 1;
  const times = pace / usual;
  if (times <= NOISE) return 1;
  return times >= PLAIN ? 1 / times : 1 - ((times - NOISE) / (PLAIN - NOISE)) * (1 - 1 / PLAIN);
}

/** 1 = no errors; nothing is left at a rate of 1 / `steepness`. */
export function errorFactor(rate: number, steepness = 3): number {
  return Math.max(0, 1 - steepness * rate);
}
