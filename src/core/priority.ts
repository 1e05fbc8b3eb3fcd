/** How urgent a request is: `interactive` ones go before those of a `batch`. */
export type Priority = 'interactive' | 'batch';

/** Who counts as a batch, and what batches get. */
export interface PriorityPolicy {
  /** Tenants of these tiers. */
  readonly batchTiers: ReadonlySet<string>;
  /** The part of what is given out, above 0 and below 1, that batches get while others wait as well. */
  readonly batchShare: number;
}

/** Why a request was refused for want of room, as `x-refused-reason` tells it. The list is closed. */
export const QUEUE_REFUSALS = ['no_queue', 'queue_full', 'queue_bytes', 'queue_timeout', 'displaced'] as const;
export type QueueRefusal = (typeof QUEUE_REFUSALS)[number];
