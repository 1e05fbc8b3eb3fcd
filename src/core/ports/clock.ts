/** Time as the code sees it, so that tests can hold it. */
export interface Clock {
  /** Monotonic milliseconds, for spans and deadlines. */
  now(): number;
  /** Unix milliseconds. */
  time(): number;
}

export const systemClock: Clock = { now: () => performance.now(), time: () => Date.now() };
