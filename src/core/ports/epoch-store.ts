/** Does the store hold what it held? `expected`: it lost it, as one without a file does at every restart. */
export type StateKept = 'kept' | 'lost' | 'expected';

/** What a process remembers of the state that the store held when it last looked. */
export interface KnownEpoch {
  /** Random; another one after a loss. */
  readonly id: string;
  /** Unix milliseconds by the store's clock: it held all that was written before. */
  readonly at: number;
}

/**
 * `missing`: the store was emptied. `replaced`: its state is another one. `older`: it went back in time, as a restored backup
 * does.
 */
export type LossKind = 'missing' | 'replaced' | 'older';

/** State that is gone, and that no operator has dealt with yet. */
export interface StateLoss {
  readonly kind: LossKind;
  /** When it was noticed, Unix milliseconds by the store's clock. */
  readonly at: number;
  /** What was written before this is still there; 0 = nothing is. */
  readonly heldUpTo: number;
}

/** How an operator dealt with a loss. */
export interface LossAnswer {
  readonly how: 'rebuilt' | 'accepted';
  /** Who: `user@host`. */
  readonly by: string;
  readonly reason: string;
  /** Unix milliseconds. */
  readonly time: number;
  /** Requests that were booked anew. */
  readonly booked: number;
}

export interface EpochLook extends KnownEpoch {
  readonly loss: StateLoss | null;
  /** To the last loss. */
  readonly answer: LossAnswer | null;
  /** A step back in time that a crash or a failover of the store may make; 0 = none. Milliseconds. */
  readonly steppedBackMs: number;
}

/** Whether the store still holds what it held. Throws `StoreUnavailable`. */
export interface EpochStore {
  /**
   * Compares with what the caller knows, and notes a loss for everybody in the same step. Who knows nothing (null) learns.
   * The time goes on with every look of somebody who knows.
   */
  look(known: KnownEpoch | null): Promise<EpochLook>;
  /** The loss as it is noted, without noting one; null = there is none. */
  loss(): Promise<StateLoss | null>;
  /** Ends a loss, for everybody. False when there is none any more. */
  answer(answer: LossAnswer): Promise<boolean>;
}
