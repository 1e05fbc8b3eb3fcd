import assert from 'node:assert/strict';
import type { StateKept } from '../../core/ports/epoch-store.ts';
import type { RequestContext } from '../../core/context.ts';
import type { Ending } from '../../core/ending.ts';
import { GatewayError } from '../../core/error.ts';
import { HeaderList } from '../../core/http.ts';
import { newRequestId, operationOf } from '../../core/ids.ts';
import type { LimitLine, LimitState } from '../../core/limit.ts';
import { NO_DIRECTORY } from '../../core/ports/directory-view.ts';
import type { AdmitResult, QuotaStore } from '../../core/ports/quota-store.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import type { Deployment, OnStoreError } from '../../core/snapshot.ts';
import type { Note } from '../../core/station.ts';
import { Trail } from '../../core/trail.ts';
import { createSchedule, type Schedule, type ScheduleOptions } from './station.ts';

export type Admit = Parameters<QuotaStore['admit']>[0];
export type Settle = Parameters<QuotaStore['settle']>[0];

export class FakeStore implements QuotaStore {
  readonly admitted: Admit[] = [];
  readonly settled: Settle[] = [];
  readonly renewed: string[] = [];
  admitWith: (request: Admit) => Promise<AdmitResult> = () => Promise.resolve({ kind: 'held', limits: [] });
  settleWith: () => Promise<'settled' | 'repeated' | 'late'> = () => Promise.resolve('settled');
  renewWith: () => Promise<boolean> = () => Promise.resolve(true);
  admit = (request: Admit): Promise<AdmitResult> => {
    this.admitted.push(request);
    return this.admitWith(request);
  };
  renew = (_tenant: string, operation: string): Promise<boolean> => {
    this.renewed.push(operation);
    return this.renewWith();
  };
  settle = (request: Settle): Promise<'settled' | 'repeated' | 'late'> => {
    this.settled.push(request);
    return this.settleWith();
  };
  sweep = (): Promise<number> => Promise.resolve(0);
  peek = (): Promise<readonly LimitState[]> => Promise.resolve([]);
}

export interface Bench {
  readonly store: FakeStore;
  readonly schedule: Schedule;
  readonly seen: string[];
  now: number;
  /** Has the store lost what it held? */
  stateLost: StateKept;
}

export function bench({
  workers = 1,
  workerIndex = 0,
  directory = NO_DIRECTORY,
  recorded,
  again,
}: Partial<Pick<ScheduleOptions, 'workers' | 'workerIndex' | 'directory' | 'recorded' | 'again'>> = {}): Bench {
  const seen: string[] = [];
  const metrics = {
    anomaly: (kind: string) => seen.push(kind),
    quotaDenied: (limit: string) => seen.push(`denied ${limit}`),
    slots: (deployment: string, running: number) => seen.push(`${deployment} runs ${running}`),
    queue: (model: string, priority: string, waiting: number) => seen.push(`${model} ${priority} waits ${waiting}`),
    queueRefused: (model: string, reason: string) => seen.push(`${model} ${reason}`),
    waited: () => {},
    rateShare: () => {},
  } as unknown as Metrics;
  const log: Log = { debug() {}, info() {}, warn() {}, error: (message) => seen.push(message) };
  const store = new FakeStore();
  const made: Bench = {
    store,
    seen,
    now: 0,
    stateLost: 'kept',
    schedule: createSchedule({
      store,
      workers,
      workerIndex,
      metrics,
      log,
      clock: { now: () => made.now, time: () => 0 },
      directory,
      stateLost: () => made.stateLost,
      recorded,
      ...(again === undefined ? {} : { again }),
    }),
  };
  return made;
}

export function deployment(
  id: string,
  room: { limit: number; queue: number; text?: string } | null = null,
): Deployment {
  return {
    id,
    model: id,
    backend: { name: `at-${id}` },
    price: { currency: 'EUR', promptPerMtok: 1_000_000, cachedPerMtok: 0, completionPerMtok: 2_000_000 },
    profile: { defaultMaxTokens: 300 },
    concurrency: room === null ? null : { limit: room.limit, perInstance: null },
    rates: null,
    queue: { size: room?.queue ?? 0, bytes: 1_000_000, timeoutMs: 100, text: room?.text ?? null },
  } as unknown as Deployment;
}

export interface Asked {
  readonly deployments?: readonly Deployment[];
  readonly limits?: readonly object[];
  readonly own?: readonly LimitLine[];
  readonly request?: object;
  readonly onStoreError?: OnStoreError;
  readonly onCrash?: 'charge' | 'release';
  readonly generation?: number;
  readonly signal?: AbortSignal;
  readonly deadline?: number;
  readonly tenant?: string;
  readonly zone?: string;
  readonly onStateLost?: 'auto' | 'deny' | 'continue';
  readonly principal?: object;
}

export function context(asked: Asked = {}): RequestContext {
  const deployments = asked.deployments ?? [deployment('m@b')];
  const id = newRequestId(0);
  return {
    id,
    operation: operationOf(id),
    shownId: 'shown',
    endpoint: 'chat',
    time: 1,
    head: { method: 'POST', path: '/', headers: new HeaderList([]) },
    deadline: asked.deadline ?? 10_000,
    signal: asked.signal ?? new AbortController().signal,
    trail: new Trail(),
    principal: {
      tenant: asked.tenant ?? 'acme',
      subject: 'ann',
      businessLine: 'x',
      keyId: null,
      limits: asked.own ?? [],
      ...asked.principal,
    },
    request: { endpoint: 'chat', model: 'm', n: 1, promptTokens: 10, maxOutputTokens: null, ...asked.request },
    config: {
      generation: asked.generation ?? 1,
      tenants: new Map([['acme', { limits: asked.limits ?? [] }]]),
      tenantDefaults: {
        limits: [{ unit: 'requests', window: { kind: 'sliding', seconds: 60 }, limit: 1, per: 'tenant' }],
      },
      priorities: { batchTiers: new Set(['batch']), batchShare: 0.1 },
      server: { messageTimeoutMs: 5000 },
      aliases: new Map([['alias', 'm']]),
      models: new Map([['m', { deployments }]]),
      ledger: {
        leaseMs: 900,
        onCrash: asked.onCrash ?? 'charge',
        onStateLost: asked.onStateLost ?? 'deny',
        zone: asked.zone ?? 'UTC',
      },
    },
    decision: {
      route: { id: 'r', onStoreError: asked.onStoreError ?? 'deny' },
      candidates: deployments.map((each) => ({ deployment: each, reason: 'explicit' })),
    },
  } as unknown as RequestContext;
}

export function ending(over: object = {}): Ending {
  const usage = { prompt: 10, cached: 0, completion: 5, reasoning: 0, source: 'upstream' };
  return { kind: 'complete', status: 200, usage, attempts: [], events: [], ...over } as unknown as Ending;
}

export async function runOf(b: Bench, ctx: RequestContext): Promise<Note> {
  const step = await b.schedule.station.run?.(ctx);
  assert.ok(step !== undefined && 'adds' in step);
  Object.assign(ctx, step.adds);
  return step.note;
}

export const finishOf = async (b: Bench, ctx: RequestContext, over: object = {}): Promise<void> =>
  b.schedule.station.finish?.(ctx, ending(over));
/** Places it as the walk does: what is added is there for the next ones. */
export async function placeOf(b: Bench, ctx: RequestContext): Promise<Note | undefined> {
  const said = await b.schedule.station.place?.(ctx);
  if (said === undefined || !('adds' in said)) return said as Note | undefined;
  Object.assign(ctx, said.adds);
  return said.note;
}
export const refusal = async (work: Promise<unknown>): Promise<GatewayError> => {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof GatewayError, String(error));
  return error;
};
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
