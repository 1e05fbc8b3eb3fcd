/** Up to this many times the usual time is noise. */
const NOISE = 1.25;
/** From so many times on the factor is one by the times; in between it falls in a straight line. */
const PLAIN = 1.5;
/** From so many times on it falls with the square: ten times the usual time is as good as not there. */
const FAR = 6;

/** 1 = as fast as peers or faster, 0.5 = twice as slow, towards 0. What is not known is 1. */
export function paceFactor(pace: number | null, usual: number | null): number {
  if (pace === null || usual === null || !(usual > 0)) return 1;
  const times = pace / usual;
  if (times <= NOISE) return 1;
  if (times < PLAIN) return 1 - ((times - NOISE) / (PLAIN - NOISE)) * (1 - 1 / PLAIN);
  return Math.min(1, FAR / times) / times;
}

/** A rate that fades never ends; this little is none. */
const NO_RATE = 0.01;

/** 1 = no errors; nothing is left at a rate of 1 / `steepness`. */
export function errorFactor(rate: number, steepness = 3): number {
  return rate < NO_RATE ? 1 : Math.max(0, 1 - steepness * rate);
}

/** A third for each error after the first of an unbroken row: seldom by chance, and soon known of one that is down. */
export function rowFactor(errors: number): number {
  return errors < 2 ? 1 : 3 ** (1 - errors);
}
