import type { OperationId } from '../ids.ts';
import type { Job, JobBounds } from '../job.ts';

/** What waits and runs now. */
export interface JobCounts {
  readonly queued: number;
  readonly running: number;
  readonly bytes: number;
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
   * `counts`: it was begun in vain. `operation`: the one before is settled. `lost`: somebody else holds it, and nothing is changed.
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
  counts(): Promise<JobCounts>;
}
