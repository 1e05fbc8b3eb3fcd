import { setTimeout as sleep } from 'node:timers/promises';
import { type Job, type Jobs, NO_ROOM } from '../../core/job.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { JobStore } from '../../core/ports/job-store.ts';
import type { OperationId } from '../../core/ids.ts';
import type { Log } from '../../core/ports/telemetry.ts';
import { FullModels } from './full-models.ts';
import { type KeptAnswer, type KeptRequest, readRequest } from './job-content.ts';
import type { JobSeal } from './seal-job.ts';

export interface RunJobsOptions {
  readonly settings: () => Jobs | null;
  readonly store: JobStore;
  readonly seal: () => JobSeal;
  /** Sends a request to the gateway, as any client would. Rejects when no answer came. */
  readonly send: (gateway: string, request: KeptRequest, token: string, signal: AbortSignal) => Promise<KeptAnswer>;
  readonly release: (tenant: string, operation: OperationId) => Promise<void>;
  /** Names this process among all of all times. */
  readonly holder: string;
  /** For a run after one that found no room: that one has settled what was reserved. */
  readonly newOperation: () => OperationId;
  readonly count: (outcome: 'completed' | 'failed' | 'cancelled' | 'expired' | 'put_back') => void;
  readonly log: Pick<Log, 'debug' | 'warn'>;
  readonly clock: Pick<Clock, 'time'>;
  readonly everyMs?: number;
  readonly leaseMs?: number;
}

/** Whoever holds a job says each second that it does. */
const LEASE_MS = 8000;
const WAIT_MS = 5000;
const MOST_WAIT_MS = 300_000;

/**
 * Runs what waits, a few at once. A worker that dies lets go of its jobs when their leases end, and others begin them anew; quota is
 * settled under the job's own operation, so once.
 */
export function runJobs(options: RunJobsOptions): { readonly close: (patienceMs: number) => Promise<void> } {
  const { settings, store, holder, log, everyMs = 500 } = options;
  const running = new Set<Promise<void>>();
  const closing = new AbortController();
  const full = new FullModels(options);
  let looking = false;
  const over = new AbortController();

  async function look(): Promise<void> {
    const rules = settings();
    if (rules === null || looking || over.signal.aborted) return;
    looking = true;
    try {
      while (running.size < rules.concurrency && !over.signal.aborted) {
        const job = await store.claim(holder, options.leaseMs ?? LEASE_MS, rules.keepMs);
        if (job === null) return;
        const work = runJob(job, rules, closing.signal, { ...options, full })
          .catch((reason: unknown) => log.debug('a job could not be run', { error: asError(reason) }))
          .finally(() => {
            running.delete(work);
            void look();
          });
        running.add(work);
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
    },
  };
}

async function runJob(
  job: Job,
  rules: Jobs,
  closing: AbortSignal,
  options: RunJobsOptions & { readonly full: FullModels },
): Promise<void> {
  const { full, store, seal, send, release, newOperation, holder, count, log, leaseMs = LEASE_MS } = options;
  const { id, tenant, operation } = job;
  const end = async (state: 'completed' | 'failed' | 'cancelled', answer: string | null): Promise<void> => {
    if (await store.finish(id, holder, { state, answer, keepMs: rules.keepMs })) count(state);
  };
  if (job.state === 'expired') {
    count('expired');
    await release(tenant, operation);
    return;
  }
  if (job.attempts >= rules.attempts) {
    log.warn('a job was begun too often', { job: id, attempts: job.attempts });
    await release(tenant, operation).catch(() => {});
    await end('failed', null);
    return;
  }
  const held = hold(id, { store, holder, leaseMs });
  try {
    const request = readRequest(seal().open(id, job.request));
    const { model = '' } = request;
    const behindMs = await full.turn(model);
    if (behindMs !== null) {
      await store.putBack(id, holder, { waitMs: behindMs, counts: false });
      return;
    }
    const signal = AbortSignal.any([closing, held.signal]);
    const answer = await send(rules.gateway, request, seal().tokenOf(id), signal);
    if (NO_ROOM.has(answer.status)) {
      const waitMs = full.refused(model, answer) ?? waitOf(answer);
      await store.putBack(id, holder, { waitMs, counts: false, operation: newOperation() });
      count('put_back');
      return;
    }
    await end('completed', seal().seal(id, JSON.stringify(answer)));
  } catch (reason) {
    if (held.why() === 'cancelled') {
      await release(tenant, operation).catch(() => {});
      await end('cancelled', null);
    } else if (held.why() === 'lost') log.debug('a job is run by another worker', { job: id });
    else {
      log.debug('a job got no answer', { job: id, error: asError(reason) });
      await store.putBack(id, holder, { waitMs: closing.aborted ? 0 : WAIT_MS, counts: !closing.aborted });
      count('put_back');
    }
  } finally {
    held.end();
  }
}

/** Keeps a job while it runs, and says when it must not go on. */
function hold(
  id: string,
  { store, holder, leaseMs }: { readonly store: JobStore; readonly holder: string; readonly leaseMs: number },
): { readonly signal: AbortSignal; readonly why: () => 'lost' | 'cancelled' | null; readonly end: () => void } {
  const abort = new AbortController();
  let why: 'lost' | 'cancelled' | null = null;
  const renew = async (): Promise<void> => {
    const said = await store.renew(id, holder, leaseMs).catch(() => 'held' as const);
    if (said === 'held' || abort.signal.aborted) return;
    why = said;
    abort.abort();
  };
  const timer = setInterval(() => void renew(), Math.min(1000, leaseMs / 3));
  timer.unref();
  return { signal: abort.signal, why: () => why, end: () => clearInterval(timer) };
}

function waitOf({ headers }: KeptAnswer): number {
  const seconds = Number(headers['retry-after']);
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(MOST_WAIT_MS, seconds * 1000) : WAIT_MS;
}

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));
