import { type Job, type Jobs, NO_ROOM } from '../../core/job.ts';
import type { OperationId } from '../../core/ids.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { JobStore } from '../../core/ports/job-store.ts';
import type { Log } from '../../core/ports/telemetry.ts';
import type { FullModels } from './full-models.ts';
import { holdJob } from './hold-job.ts';
import { insist } from './insist.ts';
import { type KeptAnswer, type KeptRequest, readRequest } from './job-content.ts';
import type { JobSeal } from './seal-job.ts';

/** The request was not sent: nobody can have begun it. */
export class NotSent extends Error {}

/** What runs of jobs lean on. */
export interface JobTools {
  readonly store: JobStore;
  readonly seal: () => JobSeal;
  /** Sends a request to the gateway, as any client would. Rejects when no answer came: with `NotSent` where the gateway could not be reached. */
  readonly send: (gateway: string, request: KeptRequest, token: string, signal: AbortSignal) => Promise<KeptAnswer>;
  /** Lets a reservation that nobody has settled end as soon as one of a request does whose worker died. */
  readonly hasten: (tenant: string, operation: OperationId) => Promise<void>;
  /** For a run after one that found no room: what that one had reserved is given back. */
  readonly newOperation: () => OperationId;
  readonly count: (outcome: 'completed' | 'failed' | 'cancelled' | 'expired' | 'put_back') => void;
  readonly log: Pick<Log, 'debug' | 'warn'>;
  readonly clock: Clock;
}

/** One run of a job. */
export interface Run extends JobTools {
  readonly rules: Jobs;
  /** Names this run among all of all times. */
  readonly holder: string;
  readonly full: FullModels;
  /** It must end now. */
  readonly closing: AbortSignal;
  readonly leaseMs: number;
}

export const WAIT_MS = 5000;
const MOST_WAIT_MS = 300_000;
/** After an answer of a backend that could not serve: this, then four times as long. */
const FAILED_WAIT_MS = 30_000;
/** What the store does not take at once is tried again each second, so often. */
const KEPT_TRIES = 30;

/**
 * Runs a job that is held. False: the gateway could not be reached, and the job has not been begun.
 * Rejects when the store does not say what became of it: then its lease ends, and it is begun anew.
 */
export async function runJob(job: Job, run: Run): Promise<boolean> {
  const { store, holder, rules, log } = run;
  if (job.state === 'expired' || job.state === 'cancelled') {
    run.count(job.state);
    return true;
  }
  if (job.attempts >= rules.attempts) {
    log.warn('a job was begun too often', { job: job.id, attempts: job.attempts });
    await end(job, 'failed', null, run);
    return true;
  }
  const held = holdJob(job.id, { store, holder, leaseMs: run.leaseMs, clock: run.clock });
  // An answer that is there is kept, or the job put back, as long as the job is held: it must not be run twice for that.
  const signal = AbortSignal.any([held.signal, run.closing]);
  const surely = <T>(work: () => Promise<T>): Promise<T> => insist(work, { tries: KEPT_TRIES, everyMs: 1000, signal });
  try {
    const found = await ask(job, signal, run);
    if (found.kind === 'answered') await surely(() => take(job, found, run));
    else if (found.kind === 'behind') await surely(() => putBack(job, { waitMs: found.waitMs, counts: false }, run));
    else if (held.why() === 'cancelled') await surely(() => end(job, 'cancelled', null, run));
    else if (held.why() === 'lost') log.debug('a job is run by another worker', { job: job.id });
    else {
      const { reason } = found;
      log.debug('a job got no answer', { job: job.id, error: reason instanceof Error ? reason : undefined });
      const counts = !run.closing.aborted && !(reason instanceof NotSent);
      const waitMs = run.closing.aborted ? 0 : WAIT_MS;
      if ((await surely(() => putBack(job, { waitMs, counts }, run))) === 'queued') run.count('put_back');
      return !(reason instanceof NotSent);
    }
    return true;
  } finally {
    held.end();
  }
}

type Found =
  | { readonly kind: 'answered'; readonly answer: KeptAnswer; readonly model: string }
  /** Those before it wait for room. */
  | { readonly kind: 'behind'; readonly waitMs: number }
  | { readonly kind: 'none'; readonly reason: unknown };

async function ask({ id, request }: Job, signal: AbortSignal, { full, seal, send, rules }: Run): Promise<Found> {
  try {
    const kept = readRequest(seal().open(id, request));
    const { model = '' } = kept;
    const waitMs = await full.turn(model);
    if (waitMs !== null) return { kind: 'behind', waitMs };
    return { kind: 'answered', answer: await send(rules.gateway, kept, seal().tokenOf(id), signal), model };
  } catch (reason) {
    return { kind: 'none', reason };
  }
}

/** Keeps the answer, unless it says that the job can be served later. */
async function take(
  job: Job,
  { answer, model }: { readonly answer: KeptAnswer; readonly model: string },
  run: Run,
): Promise<void> {
  const { full, rules, newOperation, count, seal } = run;
  // A backend was asked and could not serve: that is a run, and asking on and on would not help it.
  const counts = answer.status === 503 && answer.headers['x-error-source'] === 'model_service';
  if (!NO_ROOM.has(answer.status) || (counts && job.attempts + 1 >= rules.attempts)) {
    // Who served it settles it. Should that worker be gone, what is reserved ends as that of any request does, not a day later.
    await run.hasten(job.tenant, job.operation);
    await end(job, 'completed', seal().seal(job.id, JSON.stringify(answer)), run);
    return;
  }
  const failedMs = counts ? Math.min(MOST_WAIT_MS, FAILED_WAIT_MS * 4 ** job.attempts) : 0;
  const waitMs = full.refused(model, answer) ?? Math.max(failedMs, waitOf(answer));
  if ((await putBack(job, { waitMs, counts, operation: newOperation() }, run)) === 'queued') count('put_back');
}

async function putBack(
  job: Job,
  how: { readonly waitMs: number; readonly counts: boolean; readonly operation?: OperationId },
  run: Run,
): Promise<'queued' | 'cancelled' | 'lost'> {
  const said = await run.store.putBack(job.id, run.holder, { ...how, keepMs: run.rules.keepMs });
  if (said === 'cancelled') run.count('cancelled');
  return said;
}

async function end(
  { id }: Job,
  state: 'completed' | 'failed' | 'cancelled',
  answer: string | null,
  { store, holder, rules, count }: Run,
): Promise<void> {
  if (await store.finish(id, holder, { state, answer, keepMs: rules.keepMs })) count(state);
}

function waitOf({ headers }: KeptAnswer): number {
  const seconds = Number(headers['retry-after']);
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(MOST_WAIT_MS, seconds * 1000) : WAIT_MS;
}
