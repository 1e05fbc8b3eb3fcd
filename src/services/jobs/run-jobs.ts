import { setTimeout as sleep } from 'node:timers/promises';
import type { OperationId } from '../../core/ids.ts';
import type { Job, Jobs } from '../../core/job.ts';
import { FullModels } from './full-models.ts';
import { type JobTools, runJob, WAIT_MS } from './run-job.ts';
import { toError } from '../../lib/error/to-error.ts';

export interface RunJobsOptions extends JobTools {
  readonly settings: () => Jobs | null;
  /** Gives a reservation back; nothing where that is settled already. */
  readonly release: (tenant: string, operation: OperationId) => Promise<void>;
  /** Names this process among all of all times. */
  readonly holder: string;
  readonly everyMs?: number;
  readonly leaseMs?: number;
}

/** Whoever holds a job says each second that it does. */
const LEASE_MS = 8000;
/** Whoever is told what must be given back has this long for it. */
const OWED_MS = 10_000;

/**
 * Runs what waits, a few at once. A worker that dies lets go of its jobs when their leases end, and others begin them anew; quota is
 * settled under the job's own operation, so once.
 */
export function runJobs(options: RunJobsOptions): { readonly close: (patienceMs: number) => Promise<void> } {
  const { settings, store, release, holder, log, clock, everyMs = 500, leaseMs = LEASE_MS } = options;
  const running = new Set<Promise<void>>();
  const closing = new AbortController();
  const full = new FullModels(options);
  let looking = false;
  let paying: Promise<void> | null = null;
  let claims = 0;
  /** The gateway could not be reached: nothing is begun before. */
  let notBefore = -Infinity;
  const over = new AbortController();

  /** What fails is told of again, to any worker. */
  async function pay(): Promise<void> {
    try {
      for (const owed of await store.owed(OWED_MS)) {
        await release(owed.tenant, owed.operation);
        await store.paid(owed);
      }
    } catch (reason) {
      log.debug('what jobs had reserved could not be given back', { error: toError(reason) });
    }
  }

  function begin(job: Job, holder: string, rules: Jobs): void {
    const work = runJob(job, { ...options, rules, holder, full, leaseMs, closing: closing.signal })
      .then((isReached) => {
        if (!isReached) notBefore = clock.now() + WAIT_MS;
      })
      .catch((reason: unknown) => log.debug('a job could not be run', { error: toError(reason) }))
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
      log.debug('jobs could not be looked for', { error: toError(reason) });
    } finally {
      looking = false;
    }
  }

  const timer = setInterval(() => {
    void look();
    if (settings() !== null) paying ??= pay().finally(() => (paying = null));
  }, everyMs);
  timer.unref();
  return {
    /** Begins nothing more; what runs may end within `patienceMs`, and is put back then. */
    async close(patienceMs) {
      clearInterval(timer);
      over.abort();
      await Promise.race([Promise.allSettled(running), sleep(patienceMs, undefined, { ref: false })]);
      closing.abort();
      await Promise.allSettled(running);
      await paying;
      if (settings() !== null) await pay();
    },
  };
}
