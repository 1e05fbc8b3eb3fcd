import type { OperationId } from '../ids.ts';
import type { Job, JobBounds } from '../job.ts';

/** What waits and runs now. */
export interface JobCounts {
  readonly queued: number;
  readonly running: number;
  /** Of those that are over and still kept: begun too often. */
  readonly failed: number;
  readonly bytes: number;
  /** Since when the oldest of those waits that wait, milliseconds; null: none does. */
  readonly oldestMs: number | null;
}

/** A reservation that nobody needs any more. */
export interface OwedReservation {
  readonly tenant: string;
  readonly operation: OperationId;
}

/** Keeps jobs. One holder at a time, by a lease; times are the store's own. Throws `StoreUnavailable`. */
export interface JobStore {
  /** False: too many wait, of all or of the tenant. */
  add(job: Omit<Job, 'state' | 'attempts' | 'answer'>, bounds: JobBounds): Promise<boolean>;
  /**
   * The oldest one that may be begun, for `leaseMs`: one that waits, or whose holder is gone. One that is too old ends as `expired`,
   * and one whose holder is gone and whose client wants it no more as `cancelled`: given once, and kept for `keepMs`.
   */
  claim(holder: string, leaseMs: number, keepMs: number): Promise<Job | null>;
  /** `lost`: somebody else holds it. `cancelled`: its client wants it no more. */
  renew(id: string, holder: string, leaseMs: number): Promise<'held' | 'lost' | 'cancelled'>;
  /**
   * Back to those that wait, for `waitMs` at least; where its client wants it no more, it is `cancelled` instead, and kept for `keepMs`.
   * `counts`: it was begun in vain. `operation`: the next run's; the one before is `owed` in `SETTLED_MS`, should nobody have settled it.
   * `lost`: somebody else holds it, and nothing is changed.
   */
  putBack(
    id: string,
    holder: string,
    options: {
      readonly waitMs: number;
      readonly counts: boolean;
      readonly keepMs: number;
      readonly operation?: OperationId;
    },
  ): Promise<'queued' | 'cancelled' | 'lost'>;
  /** Its end. False: it is not held by `holder`, and nothing is changed. */
  finish(
    id: string,
    holder: string,
    end: {
      readonly state: 'completed' | 'failed' | 'cancelled';
      readonly answer: string | null;
      readonly keepMs: number;
    },
  ): Promise<boolean>;
  /** `cancelled`: it waited, and is gone. `running`: its holder will hear of it. Null: there is none that could be. */
  cancel(id: string, tenant: string, keepMs: number): Promise<'cancelled' | 'running' | null>;
  get(id: string): Promise<Job | null>;
  /** Lets go of one that is over. */
  drop(id: string): Promise<void>;
  /**
   * What must be given back of jobs that were put back, or ended without an answer: the store knows in the same step, so that no death
   * makes it forget. Whoever is told has `forMs`; then others are, unless it is `paid`.
   */
  owed(forMs: number): Promise<readonly OwedReservation[]>;
  /** It is given back, or was settled before. */
  paid(owed: OwedReservation): Promise<void>;
  counts(): Promise<JobCounts>;
}
