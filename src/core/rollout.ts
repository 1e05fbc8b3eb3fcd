/** What a roll-out of a configuration was begun with. Times are Unix milliseconds. */
export interface RolloutTerms {
  /** `rollout_<20 hex>`. */
  readonly rollout: string;
  /** Of the subjects, 0 to 100, until it is promoted. */
  readonly percent: number;
  readonly startAt: number;
  /** When it is promoted if it is as good as what it shall replace. */
  readonly endAt: number;
  /** SHA-256 of the file that it replaces, and of its own text, hex. A server with another file takes no part. */
  readonly base: string;
  readonly digest: string;
  /** The configuration as written; empty when it is over and not in force. */
  readonly text: string;
  readonly criteria: RolloutCriteria;
  /** Who began it. */
  readonly by: string;
}

/** What is too bad. */
export interface RolloutCriteria {
  /** By how much the part of the requests that fail may be greater, 0..1. */
  readonly errorIncrease: number;
  /** By what the 95th percentile of the times may be multiplied. */
  readonly p95Ratio: number;
  /** Requests of each kind without which nothing is promoted. */
  readonly minSamples: number;
}

export const ROLLOUT_STATUSES = ['running', 'promoted', 'rolled_back', 'aborted'] as const;
export type RolloutStatus = (typeof ROLLOUT_STATUSES)[number];

/** Where it stands. */
export interface RolloutState {
  readonly status: RolloutStatus;
  /** Why it is over, in words; null while it runs. */
  readonly reason: string | null;
}

/** How requests fared under one configuration. */
export interface ArmFigures {
  readonly requests: number;
  readonly errors: number;
  /** Histogram of the times of those that were answered: `bucket, count, bucket, count, …`. */
  readonly times: readonly number[];
}

export const ARMS = ['old', 'new'] as const;
export type Arm = (typeof ARMS)[number];

/** Of one process, or of all together. */
export type RolloutFigures = Readonly<Record<Arm, ArmFigures>>;

/** What becomes of a part of a configuration that differs. */
export interface RolloutPart {
  /** `routes`, `backends.b: endpoints`. */
  readonly part: string;
  /** Tried on a part of the requests; in force for all at the end; or not to be rolled out, for it needs a restart. */
  readonly how: 'percent' | 'promotion' | 'restart';
}
