import type { Clock } from '../../core/ports/clock.ts';
import type { JobStore } from '../../core/ports/job-store.ts';

export interface HoldJobOptions {
  readonly store: Pick<JobStore, 'renew'>;
  readonly holder: string;
  readonly leaseMs: number;
  readonly clock: Pick<Clock, 'now'>;
}

/** A job that is held. */
export interface HeldJob {
  /** It must not go on. */
  readonly signal: AbortSignal;
  /** `lost`: another one holds it, or may, for nothing was heard of the store for as long as a lease. */
  readonly why: () => 'lost' | 'cancelled' | null;
  readonly end: () => void;
}

/** Keeps a job while it runs, and says when it must not go on. */
export function holdJob(id: string, { store, holder, leaseMs, clock }: HoldJobOptions): HeldJob {
  const abort = new AbortController();
  let why: 'lost' | 'cancelled' | null = null;
  let heldAt = clock.now();
  const stop = (reason: 'lost' | 'cancelled'): void => {
    if (abort.signal.aborted) return;
    why = reason;
    abort.abort();
  };
  const renew = async (): Promise<void> => {
    const askedAt = clock.now();
    const said = await store.renew(id, holder, leaseMs).catch(() => null);
    if (said === 'held') heldAt = Math.max(heldAt, askedAt);
    else if (said !== null) stop(said);
  };
  const everyMs = Math.min(1000, leaseMs / 3);
  const timer = setInterval(() => {
    // Before the lease ends, not after: another one begins the job then.
    if (clock.now() - heldAt > leaseMs - 1.5 * everyMs) stop('lost');
    else void renew();
  }, everyMs);
  timer.unref();
  return { signal: abort.signal, why: () => why, end: () => clearInterval(timer) };
}
