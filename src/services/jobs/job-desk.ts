import { randomBytes } from 'node:crypto';
import type { Arrived, Authenticated, Received } from '../../core/context.ts';
import { GatewayError } from '../../core/error.ts';
import type { HeaderPair, LocalResponse } from '../../core/http.ts';
import type { OperationId } from '../../core/ids.ts';
import type { Job, Jobs } from '../../core/job.ts';
import type { Json } from '../../core/json.ts';
import type { AuditLog } from '../../core/ports/audit.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { JobDesk } from '../../core/ports/job-desk.ts';
import type { JobStore } from '../../core/ports/job-store.ts';
import { StoreUnavailable } from '../../core/ports/quota-store.ts';
import type { Principal } from '../../core/principal.ts';
import { insist } from './insist.ts';
import { isKept, type KeptAnswer, writeRequest } from './job-content.ts';
import type { JobSeal } from './seal-job.ts';

type Asking = Arrived & Authenticated & Received;

export interface JobDeskOptions {
  /** Null: there are no jobs. */
  readonly settings: () => Jobs | null;
  readonly store: JobStore;
  readonly seal: () => JobSeal;
  /** Reserves what the request may take, for as long as a request. Throws what it is refused with. */
  readonly reserve: (ctx: Asking, operation: OperationId) => Promise<void>;
  /** Keeps what is reserved for so long, milliseconds. */
  readonly keep: (tenant: string, operation: OperationId, leaseMs: number) => Promise<void>;
  /** Gives a reservation back. */
  readonly release: (tenant: string, operation: OperationId) => Promise<void>;
  readonly audit: Pick<AuditLog, 'append'>;
  readonly count: (outcome: 'queued' | 'refused' | 'cancelled') => void;
  readonly clock: Pick<Clock, 'time'>;
}

/** Longer than the longest request: its reservation must not end while it runs. */
const SLACK_MS = 3_600_000;
const POLL_SECONDS = '2';
const KEEP_TRIES = { tries: 3, everyMs: 100 };
/** For so long a store is asked that did not say whether it took a job. */
const WITHDRAW_TRIES = 300;
const WITHDRAW_MS = 1000;

/** Takes requests that nobody waits for, tells what became of them, and cancels them. */
export function createJobDesk(options: JobDeskOptions): JobDesk {
  const { settings, store, seal, reserve, keep, release, audit, count, clock } = options;

  function rules(): Jobs {
    const found = settings();
    if (found === null) throw new GatewayError('unknown_endpoint', 'There are no jobs here.');
    return found;
  }

  async function own(who: Principal, id: string): Promise<Job> {
    rules();
    const job = /^job_[0-9a-f]{32}$/.test(id) ? await reach(() => store.get(id)) : null;
    if (job === null || job.tenant !== who.tenant)
      throw new GatewayError('job_not_found', 'There is no such job, or no more.');
    return job;
  }

  /** The client is told that its job was not taken: so it must not run, and nothing of its may stay reserved. */
  async function withdraw(
    { id, tenant, operation }: Pick<Job, 'id' | 'tenant' | 'operation'>,
    reason: unknown,
  ): Promise<void> {
    // It may have been added all the same. While that is not known, what is reserved must stay: the job may run.
    const isAway = reason instanceof StoreUnavailable && !reason.sent;
    const again = { tries: WITHDRAW_TRIES, everyMs: WITHDRAW_MS };
    const outcome = isAway ? null : await insist(() => store.cancel(id, tenant, rules().keepMs), again);
    if (outcome !== 'running') await release(tenant, operation);
  }

  function tell(action: string, who: Principal, job: Pick<Job, 'id' | 'operation'>): void {
    const facts = { action, job: job.id, operation: job.operation, tenant: who.tenant, subject: who.subject };
    audit.append({ kind: 'system', time: clock.time(), facts });
  }

  return {
    isOpen: () => settings() !== null,
    async take(ctx) {
      const { bounds, maxAgeMs } = rules();
      if (ctx.request.stream)
        throw new GatewayError('invalid_value', 'A job has no stream: leave stream out.', { param: 'stream' });
      const job = describe(ctx, { now: clock.time(), maxAgeMs, seal: seal() });
      if (Buffer.byteLength(job.request) > bounds.bytes)
        throw new GatewayError('request_too_large', 'The request is larger than all jobs together may be.');
      // Only a job that is there has a long one: should we die before, nobody would give it back.
      await reserve(ctx, job.operation);
      const added = await reach(() =>
        store.add(job, bounds).catch((reason: unknown) => {
          void withdraw(job, reason).catch(() => {});
          throw reason;
        }),
      );
      if (!added) {
        await release(job.tenant, job.operation);
        count('refused');
        throw new GatewayError('jobs_full', 'Too many jobs wait already. Please try again later.', {
          retryAfterMs: 30_000,
        });
      }
      // Where that fails, it ends too early, and what the job settles takes the place of what that booked.
      await insist(() => keep(job.tenant, job.operation, maxAgeMs + SLACK_MS), KEEP_TRIES).catch(() => {});
      count('queued');
      tell('job.queued', ctx.principal, job);
      const headers: HeaderPair[] = [
        ['location', `/v1/jobs/${job.id}`],
        ['preference-applied', 'respond-async'],
      ];
      return response(202, shown({ ...job, state: 'queued' }, null), headers);
    },
    async show(who, id) {
      const job = await own(who, id);
      const answer = job.answer === null ? null : opened(seal(), id, job.answer);
      if (answer !== null && rules().once) await reach(() => store.drop(id));
      return response(200, shown(job, answer));
    },
    async cancel(who, id) {
      const job = await own(who, id);
      const outcome = await reach(() => store.cancel(id, who.tenant, rules().keepMs));
      if (outcome === null) throw new GatewayError('job_over', `The job is ${job.state} already.`);
      // The store has noted that it must be given back: this is only sooner.
      if (outcome === 'cancelled') await release(job.tenant, job.operation).catch(() => {});
      if (outcome === 'cancelled') count('cancelled');
      tell('job.cancelled', who, job);
      const now = outcome === 'cancelled' ? await reach(() => store.get(id)) : null;
      return response(200, shown(now ?? job, null));
    },
  };
}

function describe(
  ctx: Asking,
  { now, maxAgeMs, seal }: { readonly now: number; readonly maxAgeMs: number; readonly seal: JobSeal },
): Omit<Job, 'state' | 'attempts' | 'answer'> {
  const id = `job_${randomBytes(16).toString('hex')}`;
  const names = ctx.head.headers.names();
  const all = names.flatMap((name) => ctx.head.headers.all(name).map((value): HeaderPair => [name, value]));
  const headers = all.filter(([name, value]) => isKept(name, value));
  const text = writeRequest({
    path: ctx.head.path.split('?', 1)[0] ?? '',
    headers: [...headers, ['x-request-id', ctx.shownId]],
    body: ctx.request.raw.toString('base64'),
    model: ctx.request.model,
    who: ctx.principal,
  });
  // The reservation outlives the request that made it: it is the job's own.
  const { operation } = ctx;
  return {
    id,
    tenant: ctx.principal.tenant,
    operation,
    createdAt: now,
    expiresAt: now + maxAgeMs,
    request: seal.seal(id, text),
  };
}

type Shown = Pick<Job, 'id' | 'state' | 'createdAt' | 'expiresAt'>;

function shown({ id, state, createdAt, expiresAt }: Shown, answer: KeptAnswer | null): Json {
  return {
    id,
    object: 'job',
    status: state,
    created_at: Math.floor(createdAt / 1000),
    expires_at: Math.floor(expiresAt / 1000),
    response:
      answer === null ? null : { status_code: answer.status, headers: { ...answer.headers }, body: bodyOf(answer) },
  };
}

function opened(seal: JobSeal, id: string, sealed: string): KeptAnswer {
  try {
    return JSON.parse(seal.open(id, sealed)) as KeptAnswer;
  } catch (cause) {
    throw new GatewayError('job_not_found', 'The answer of this job was kept under another key.', { cause });
  }
}

function bodyOf({ body }: KeptAnswer): Json {
  try {
    return JSON.parse(body) as Json;
  } catch {
    return body;
  }
}

function response(status: number, value: Json, headers: readonly HeaderPair[] = []): LocalResponse {
  const { status: state } = value as { readonly status?: Json };
  const wait: readonly HeaderPair[] = state === 'queued' || state === 'running' ? [['retry-after', POLL_SECONDS]] : [];
  return {
    status,
    headers: [['content-type', 'application/json'], ...headers, ...wait],
    body: Buffer.from(JSON.stringify(value)),
    details: 'answered_by_gateway',
  };
}

async function reach<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    if (!(cause instanceof StoreUnavailable)) throw cause;
    throw new GatewayError('store_unavailable', 'Jobs cannot be reached at the moment. Please try again.', {
      retryAfterMs: 1000,
      cause,
    });
  }
}
