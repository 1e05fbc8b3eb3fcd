import { isDeepStrictEqual } from 'node:util';
import type { RolloutPart } from '../core/rollout.ts';
import type { Backend, Deployment, Model, Snapshot } from '../core/snapshot.ts';

/** What requests read of the configuration that they began with, and nobody else does. */
const BY_PERCENT = [
  'tenants',
  'tenantDefaults',
  'models',
  'aliases',
  'routes',
  'classifiers',
  'zones',
  'filter',
  'responses',
] as const;
/** What is shared by all requests of a process, or what Envoy keeps. */
const AT_PROMOTION = [
  'auth',
  'limits',
  'timeouts',
  'retry',
  'breakers',
  'priorities',
  'surge',
  'ledger',
  'budgets',
  'admin',
  'jobs',
  'telemetry',
] as const;
/** What a process reads once. */
const AT_RESTART = ['listen', 'server', 'redis', 'audit'] as const;
/** Of a backend that both have: what Envoy knows of it, and what is looked at and counted once for all. */
const OF_A_CLUSTER = ['endpoints', 'pool', 'tls', 'http2', 'health', 'probes'] as const;
type OfACluster = (typeof OF_A_CLUSTER)[number];

/** Two configurations as one part of the requests and another one see them. */
export interface RolloutParts {
  /** What differs, in order. */
  readonly parts: readonly RolloutPart[];
  /** The old one with all of the new one that can differ by request. */
  readonly merged: Snapshot;
}

const nameOf = (key: string): string => key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Says what differs and when it takes effect, and makes what a part of the requests are served by. */
export function rolloutParts(old: Snapshot, next: Snapshot): RolloutParts {
  const backends = mergeBackends(old, next);
  const models = new Map([...next.models].map(([name, model]) => [name, mergeModel(old, model, backends)]));
  const parts = [
    ...differing(old, next, AT_RESTART, 'restart'),
    ...backendParts(old, next),
    ...limitParts(old, next),
    ...differing(old, { ...next, models }, BY_PERCENT, 'percent'),
    ...differing(old, next, AT_PROMOTION, 'promotion'),
  ];
  const { tenants, tenantDefaults, aliases, routes, classifiers, zones, filter, responses, digest } = next;
  const { zones: _zones, ...rest } = old;
  const own = { tenants, tenantDefaults, aliases, routes, classifiers, filter, responses, digest, backends, models };
  return { parts, merged: Object.freeze({ ...rest, ...own, ...(zones === undefined ? {} : { zones }) }) };
}

function differing(
  old: Snapshot,
  next: Snapshot,
  keys: readonly (keyof Snapshot)[],
  how: RolloutPart['how'],
): readonly RolloutPart[] {
  return keys.filter((key) => !isSame(key, old, next)).map((key) => ({ part: nameOf(key), how }));
}

function isSame(key: keyof Snapshot, old: Snapshot, next: Snapshot): boolean {
  return isDeepStrictEqual(plainOf(key, old), plainOf(key, next));
}

/** What others hold is told of where it stands; what was learned is a function, which is like no other one. */
function plainOf(key: keyof Snapshot, all: Snapshot): unknown {
  switch (key) {
    case 'models':
      return [...all.models.values()].map(({ deployments, ...model }) => ({
        ...model,
        deployments: deployments.map(({ concurrency: _c, rates: _r, queue: _q, backend, ...each }) => ({
          ...each,
          backend: backend.name,
        })),
      }));
    case 'routes':
      return all.routes.map(({ classifier, ...route }) => ({ ...route, classifier: classifier?.name ?? null }));
    case 'classifiers':
      return [...all.classifiers.values()].map(({ text, ...each }) => ({ ...each, text: text?.quality ?? null }));
    default:
      return all[key];
  }
}

/** What one has and the other lacks is there for both: requests under way may need it. */
function mergeBackends(old: Snapshot, next: Snapshot): ReadonlyMap<string, Backend> {
  const merged = new Map(old.backends);
  for (const [name, backend] of next.backends) {
    const before = old.backends.get(name);
    if (before === undefined) merged.set(name, backend);
    else {
      merged.set(name, { ...withoutCluster(backend), ...clusterOf(before) });
    }
  }
  return merged;
}

/** What Envoy keeps of a backend, and what all requests share. */
function clusterOf({ endpoints, pool, tls, http2, health, probes }: Backend): Pick<Backend, OfACluster> {
  const learned = { ...(pool === undefined ? {} : { pool }), ...(probes === undefined ? {} : { probes }) };
  return { endpoints, tls, http2, health, ...learned };
}

/** What each request takes of a backend. */
function withoutCluster(backend: Backend): Omit<Backend, OfACluster> {
  const { endpoints: _e, pool: _p, tls: _t, http2: _h, health: _c, probes: _l, ...own } = backend;
  return own;
}

function mergeModel(old: Snapshot, model: Model, backends: ReadonlyMap<string, Backend>): Model {
  const before = old.models.get(model.name)?.deployments ?? [];
  const deployments = model.deployments.map((deployment): Deployment => {
    const known = before.find(({ id }) => id === deployment.id);
    const backend = backends.get(deployment.backend.name) ?? deployment.backend;
    const { rates: _rates, queue: _queue, ...own } = deployment;
    return { ...own, backend, ...limitsOf(known ?? deployment) };
  });
  return { ...model, deployments };
}

function backendParts(old: Snapshot, next: Snapshot): readonly RolloutPart[] {
  const parts: RolloutPart[] = [];
  for (const [name, backend] of next.backends) {
    const before = old.backends.get(name);
    if (before === undefined) {
      parts.push({ part: `backends.${name}: new`, how: 'percent' });
      continue;
    }
    const changed = OF_A_CLUSTER.filter((key) => !isDeepStrictEqual(before[key], backend[key]));
    if (changed.length > 0) parts.push({ part: `backends.${name}: ${changed.join(', ')}`, how: 'promotion' });
    if (!isDeepStrictEqual(withoutCluster(before), withoutCluster(backend)))
      parts.push({ part: `backends.${name}`, how: 'percent' });
  }
  for (const name of old.backends.keys())
    if (!next.backends.has(name)) parts.push({ part: `backends.${name}: gone`, how: 'promotion' });
  return parts;
}

/** What all requests share: it is not counted by two rules. */
function limitsOf({ concurrency, rates, queue }: Deployment): Pick<Deployment, 'concurrency' | 'rates' | 'queue'> {
  return { concurrency, ...(rates === undefined ? {} : { rates }), ...(queue === undefined ? {} : { queue }) };
}

function limitParts(old: Snapshot, next: Snapshot): readonly RolloutPart[] {
  const before = new Map(
    [...old.models.values()].flatMap(({ deployments }) => deployments.map((one) => [one.id, one])),
  );
  return [...next.models.values()]
    .flatMap(({ deployments }) => deployments)
    .filter((deployment) => {
      const known = before.get(deployment.id);
      return known !== undefined && !isDeepStrictEqual(limitsOf(known), limitsOf(deployment));
    })
    .map(({ id }) => ({ part: `${id}: limits`, how: 'promotion' as const }));
}
