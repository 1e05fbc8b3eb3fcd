import type { OperationId } from './ids.ts';

/** What becomes of a request that nobody waits for. */
export const JOB_STATES = ['queued', 'running', 'completed', 'failed', 'cancelled', 'expired'] as const;
export type JobState = (typeof JOB_STATES)[number];

/** A request that waits, or its answer. Times are Unix milliseconds. `request` and `answer` are sealed. */
export interface Job {
  /** `job_<32 hex>`. */
  readonly id: string;
  readonly tenant: string;
  readonly state: JobState;
  /** Under which its quota is reserved, and settled once, however often it is begun; another one after a run that found no room. */
  readonly operation: OperationId;
  readonly createdAt: number;
  /** Not begun after this; when it is over, kept until this. */
  readonly expiresAt: number;
  /** How often it was begun and not brought to an end. */
  readonly attempts: number;
  readonly request: string;
  readonly answer: string | null;
}

/** Answers that say that there is no room now, by any limit: a job that gets one waits on. */
export const NO_ROOM: ReadonlySet<number> = new Set([429, 503]);

/** Whoever served a run has settled it this long after its job was put back, if it ever will. */
export const SETTLED_MS = 10_000;

/** How many may wait, and how long. */
export interface JobBounds {
  readonly count: number;
  readonly perTenant: number;
  /** Of all requests that wait, as they are kept. */
  readonly bytes: number;
}

export interface Jobs {
  /** 32 bytes: what is kept is under it, and workers know each other by it. */
  readonly key: Uint8Array;
  readonly bounds: JobBounds;
  /** From arrival to begin. */
  readonly maxAgeMs: number;
  /** How long answers are kept. */
  readonly keepMs: number;
  /** Is an answer gone when it was read? */
  readonly once: boolean;
  /** Of one worker at once. */
  readonly concurrency: number;
  /** How often a job is begun whose worker died. */
  readonly attempts: number;
  /** Where Envoy listens for what workers send. */
  readonly gateway: string;
}
