/** What the tests of this folder make configurations and requests with. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_BREAKER } from '../../core/breaker-policy.ts';
import { microUnits } from '../../core/money.ts';
import type { Decision } from '../../core/decision.ts';
import { HeaderList } from '../../core/http.ts';
import type { HeaderPair } from '../../core/http.ts';
import type { Json } from '../../core/json.ts';
import type { LimitState } from '../../core/limit.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import type { Deployment, Model, Route, RouteCandidate, Snapshot } from '../../core/snapshot.ts';
import type { Note } from '../../core/station.ts';
import type { RouteContext } from './match-inputs.ts';
import { createRoute } from './route.ts';
import type { RouteOptions, RouteStation } from './route.ts';

const noop = (): void => {};
export const silentLog: Log = { debug: noop, info: noop, warn: noop, error: noop };

export function deployment(
  model: string,
  backend: string,
  changes: Partial<Deployment> = {},
  dialect = 'openai',
): Deployment {
  return {
    id: `${model}@${backend}`,
    model,
    backend: { name: backend, dialect } as Deployment['backend'],
    upstreamModel: model,
    weight: 1,
    chatTemplate: null,
    price: {
      currency: 'USD',
      promptPerMtok: microUnits(0),
      cachedPerMtok: microUnits(0),
      completionPerMtok: microUnits(0),
    },
    profile: {
      p95Ms: null,
      firstTokenMs: null,
      tokenMs: null,
      quality: 1,
      qualityFor: new Map(),
      context: 8192,
      defaultMaxTokens: 100,
    },
    concurrency: null,
    costTier: 'economy',
    ...changes,
  };
}

/** A model with one deployment on each backend, all of weight 0: in order. */
export function model(name: string, backends = 'a', changes: Partial<Model> = {}): Model {
  const deployments = backends.split(' ').map((backend) => deployment(name, backend, { weight: 0 }));
  return { name, stage: 'full', balance: 'weight', affinity: 'none', deployments, fallback: [], ...changes };
}

export function candidate(name: string, weight = 1, canary = false): RouteCandidate {
  return { model: name, weight, canary };
}

export function route(id: string, changes: Partial<Route> = {}): Route {
  return {
    id,
    models: ['auto'],
    match: null,
    candidates: [],
    fallback: [],
    onStoreError: 'deny',
    timeoutMs: null,
    protect: 'cheaper',
    divert: false,
    reduceN: false,
    replay: null,
    score: null,
    classifier: null,
    scoreFor: new Map(),
    ...changes,
  };
}

export const DEFAULT_ROUTE = route('default', { models: ['*'], onStoreError: 'allow', timeoutMs: 777 });

export function config(models: readonly Model[], routes: readonly Route[], changes: Partial<Snapshot> = {}): Snapshot {
  const made: Partial<Snapshot> = {
    generation: 1,
    models: new Map(models.map((each) => [each.name, each])),
    aliases: new Map(),
    classifiers: new Map(),
    routes,
    ledger: { onStoreError: 'deny' } as Snapshot['ledger'],
    retry: { retries: 2, baseMs: 1, maxMs: 1, retryAfterCapMs: 1, replay: 'always' },
    breakers: {
      enabled: true,
      policy: DEFAULT_BREAKER,
      slow: { firstTokenMs: null, totalMs: null },
      whenAllOpen: 'serve',
      text: null,
    },
    surge: null,
    priorities: { batchTiers: new Set(), batchShare: 0.1 },
    ...changes,
  };
  return made as Snapshot;
}

export interface Ask {
  readonly model?: string;
  readonly endpoint?: 'chat' | 'completions' | 'embeddings';
  readonly path?: string;
  readonly headers?: readonly HeaderPair[];
  readonly json?: { readonly [key: string]: Json };
  readonly texts?: readonly { param: string; role: string; text: string }[];
  readonly promptTokens?: number;
  readonly maxOutputTokens?: number | null;
  readonly stream?: boolean;
  readonly tenant?: string;
  readonly tier?: string;
  readonly scopes?: readonly string[];
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly limits?: readonly LimitState[];
}

export function context(snapshot: Snapshot, ask: Ask = {}): RouteContext {
  const messages = [{ role: 'user', content: 'hi' }];
  return {
    head: { method: 'POST', path: ask.path ?? '/v1/chat/completions?x=1', headers: new HeaderList(ask.headers ?? []) },
    endpoint: ask.endpoint ?? 'chat',
    config: snapshot,
    principal: {
      tenant: ask.tenant ?? 'acme',
      tier: ask.tier ?? 'standard',
      businessLine: 'general',
      scopes: new Set(ask.scopes ?? []),
      claims: Object.freeze(Object.assign(Object.create(null) as object, ask.claims)),
    },
    request: {
      endpoint: ask.endpoint ?? 'chat',
      json: ask.json ?? { messages },
      model: ask.model ?? 'auto',
      stream: ask.stream ?? false,
      maxOutputTokens: ask.maxOutputTokens ?? null,
      n: 1,
      texts: ask.texts ?? [{ param: 'messages[0].content', role: 'user', text: 'hi' }],
      promptTokens: ask.promptTokens ?? 10,
    },
    admission:
      ask.limits === undefined
        ? { kind: 'unbooked', reason: 'test' }
        : { kind: 'held', limits: ask.limits, reservedTokens: 0 },
  } as unknown as RouteContext;
}

export interface Bench {
  readonly station: RouteStation;
  readonly anomalies: readonly string[];
  /** What being warm did, by model. */
  readonly affinities: readonly string[];
  readonly advance: (ms: number) => void;
}

/** Rules of tests are few and small; they are remembered all the same. */
const REMEMBERS = { entries: 10_000, ttlMs: 10_000 };

export function bench(options: Partial<RouteOptions> = {}): Bench {
  let now = 0;
  const clock: Clock = { now: () => now, time: () => now };
  const anomalies: string[] = [];
  const affinities: string[] = [];
  const metrics = {
    anomaly: (kind: string) => anomalies.push(kind),
    affinity: (name: string, outcome: string) => affinities.push(`${name} ${outcome}`),
    leftOut: noop,
    classified: noop,
  } as unknown as Metrics;
  const station = createRoute({ log: silentLog, metrics, clock, supports: () => true, cache: REMEMBERS, ...options });
  return { station, anomalies, affinities, advance: (ms) => (now += ms) };
}

export interface Outcome extends Decision {
  readonly ids: string;
  readonly note: Note;
}

/** Runs the station once. `ids` are the deployments in order. */
export function decide({ station }: Pick<Bench, 'station'>, snapshot: Snapshot, ask: Ask = {}): Outcome {
  const step = station.run?.(context(snapshot, ask));
  assert.ok(step !== undefined && 'note' in step);
  const { decision } = step.adds;
  return { ...decision, ids: decision.candidates.map((each) => each.deployment.id).join(' '), note: step.note };
}

/** Is a count within seven standard deviations of what `share` of `runs` would give? */
export function nearShare(count: number, runs: number, share: number): boolean {
  return Math.abs(count - runs * share) <= 7 * Math.sqrt(runs * share * (1 - share)) + 1;
}

test('the kit makes a request that is routed', () => {
  assert.equal(decide(bench(), config([model('m')], [route('r', { candidates: [candidate('m')] })])).ids, 'm@a');
});
