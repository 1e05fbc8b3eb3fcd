/** What one process needs of a rate that all processes share. */
export interface RateWish {
  /** Names the rate among all. */
  readonly name: string;
  /** Of all processes together, units a second. */
  readonly rate: number;
  /** What this process could use now, units a second. */
  readonly demand: number;
  /** The share that it goes by now, units a second: it is not given to others before the process has said that it let go of it. */
  readonly held: number;
}

/**
 * Shares rates out among processes. However processes come, go and die, the shares that they go by never add up to more than
 * the rate, as long as nobody is cut off from the store who was given a share while others are not.
 */
export interface RateShareStore {
  /** A sign of life, and the share of each rate from now on. Throws `StoreUnavailable`. */
  renew(holder: string, wishes: readonly RateWish[]): Promise<readonly number[]>;
  /** Gives all shares back at once. */
  leave(holder: string, names: readonly string[]): Promise<void>;
}

/** How long a holder that says nothing keeps its share, and how long a table that begins empty gives nothing new. Milliseconds. */
export interface RateShareTimes {
  readonly keepMs: number;
  readonly settleMs: number;
}

export const RATE_SHARE_TIMES: RateShareTimes = { keepMs: 5000, settleMs: 3000 };
