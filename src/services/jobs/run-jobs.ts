import { setTimeout as sleep } from 'node:timers/promises';
import type { Job, Jobs } from '../../core/job.ts';
import { FullModels } from './full-models.ts';
import { type JobTools, runJob, WAIT_MS } from './run-job.ts';

export interface RunJobsOptions extends JobTools {
  readonly settings: () => Jobs | null;
  /** Names this process among all of all times. */
  readonly holder: string;
  readonly everyMs?: number;
  readonly leaseMs?: number;
}

/** Whoever holds a job says each second that it does. */
const LEASE_MS = 8000;

/**
 * Runs what waits, a few at once. A worker that dies lets go of its jobs when their leases end, and others begin them anew; quota is
 * settled under the job's own operation, so once.
 */
export function runJobs(options: RunJobsOptions): { readonly close: (patienceMs: number) => Promise<void> } {
  const { settings, store, holder, log, clock, everyMs = 500, leaseMs = LEASE_MS } = options;
  const running = new Set<Promise<void>>();
  const closing = new AbortController();
  const full = new FullModels(options);
  const left = new Set<Promise<void>>();
  let looking = false;
  let claims = 0;
  /** The gateway could not be reached: nothing is begun before. */
  let notBefore = -Infinity;
  const over = new AbortController();

  const later = (work: Promise<void>): void => {
    const noted = work
      .catch((reason: unknown) =>
        log.warn('what a job had reserved could not be given back', { error: asError(reason) }),
      )
      .finally(() => left.delete(noted));
    left.add(noted);
  };

  function begin(job: Job, holder: string, rules: Jobs): void {
    const work = runJob(job, { ...options, rules, holder, full, later, leaseMs, closing: closing.signal })
      .then((isReached) => {
        if (!isReached) notBefore = clock.now() + WAIT_MS;
      })
      .catch((reason: unknown) => log.debug('a job could not be run', { error: asError(reason) }))
      .finally(() => {
        running.delete(work);
        void look();
      });
    running.add(work);
  }

  async function look(): Promise<void> {
    const rules = settings();
    if (rules === null || looking || over.signal.aborted || clock.now() < notBefore) return;
    looking = true;
    try {
      while (running.size < rules.concurrency && !over.signal.aborted && clock.now() >= notBefore) {
        // Of two runs of one job in this process, the first has lost it.
        const run = `${holder}#${(claims += 1)}`;
        const job = await store.claim(run, leaseMs, rules.keepMs);
        if (job === null) return;
        begin(job, run, rules);
      }
    } catch (reason) {
      log.debug('jobs could not be looked for', { error: asError(reason) });
    } finally {
      looking = false;
    }
  }

  const timer = setInterval(() => void look(), everyMs);
  timer.unref();
  return {
    /** Begins nothing more; what runs may end within `patienceMs`, and is put back then. */
    async close(patienceMs) {
      clearInterval(timer);
      over.abort();
      await Promise.race([Promise.allSettled(running), sleep(patienceMs, undefined, { ref: false })]);
      closing.abort();
      await Promise.allSettled(running);
      await Promise.all(left);
    },
  };
}

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));
