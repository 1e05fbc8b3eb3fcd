import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse, stringify } from 'yaml';
import { loadConfig } from './load-config.ts';
import { rolloutParts } from './rollout-parts.ts';

const BASE = `version: 1
redis: {url: "redis://127.0.0.1"}
auth: {api_keys: [{name: k, key: "0123456789abcdef", tenant: t}]}
tenants: [{name: acme, tier: standard}]
backends:
  - {name: a, endpoints: [{url: "http://10.0.0.1:8000"}], credentials: {header: authorization, value: Bearer old}}
  - {name: b, endpoints: [{url: "http://10.0.0.2:8000"}]}
models:
  - {name: m, deployments: [{backend: a, limits: {concurrency: 4}}, {backend: b}]}
routes: [{name: r, candidates: [{model: m}]}]
`;

type Plain = Record<string, unknown> & { backends: Record<string, unknown>[]; models: Record<string, unknown>[] };

function snapshot(text: string) {
  const result = loadConfig({
    path: '/nowhere/tokenlat.yaml',
    text,
    generation: 1,
    dialects: ['openai', 'anthropic'],
    checkMatch: () => null,
  });
  assert.ok(result.ok, JSON.stringify(result.ok ? '' : result.problems));
  return result.snapshot;
}

function compare(change: (document: Plain) => object) {
  const document = parse(BASE) as Plain;
  const next = snapshot(stringify({ ...document, ...change(document) }));
  const { parts, merged } = rolloutParts(snapshot(BASE), next);
  return { said: parts.map(({ part, how }) => `${part} ${how}`), merged, next };
}

test('each part is told of once, with when it takes effect', () => {
  assert.deepEqual(compare(() => ({})).said, []);
  const all = compare(({ backends }) => ({
    listen: { port: 9999 },
    tenants: [{ name: 'acme', tier: 'gold' }],
    routes: [{ name: 'r', candidates: [{ model: 'm' }], timeout: '5s' }],
    timeouts: { idle: '9s' },
    breakers: { enabled: false },
    filter: { terms: ['x'] },
    backends,
  }));
  assert.deepEqual(all.said, [
    'listen restart',
    'tenants percent',
    'routes percent',
    'filter percent',
    'timeouts promotion',
    'breakers promotion',
  ]);
  assert.equal(all.merged.timeouts.idleMs, snapshot(BASE).timeouts.idleMs);
  assert.equal(all.merged.tenants.get('acme')?.tier, 'gold');
});

test('of a backend, what Envoy knows waits for the promotion; what is set on a request does not', () => {
  const { said, merged } = compare(({ backends: [a, b] }) => ({
    backends: [
      {
        ...a,
        endpoints: [{ url: 'http://10.0.0.9:8000' }],
        credentials: { header: 'authorization', value: 'Bearer new' },
      },
      b,
    ],
  }));
  assert.deepEqual(said, ['backends.a: endpoints promotion', 'backends.a percent']);
  const backend = merged.models.get('m')?.deployments[0]?.backend;
  assert.equal(backend, merged.backends.get('a'));
  assert.deepEqual(
    backend?.endpoints.map(({ host }) => host),
    ['10.0.0.1'],
  );
  assert.deepEqual(backend?.credentials, [['authorization', 'Bearer new']]);
});

test('who picks among the endpoints of a backend is as before until the promotion', () => {
  const pooled = compare(({ backends: [a, b] }) => ({ backends: [{ ...a, pool: {} }, b] }));
  assert.deepEqual(pooled.said, ['backends.a: pool promotion']);
  assert.equal(pooled.merged.backends.get('a')?.pool, undefined);
  assert.notEqual(pooled.next.backends.get('a')?.pool, undefined);
});

test('Envoy knows the backends of both; slots are counted as before; one that is new has its own', () => {
  const { said, merged } = compare(({ backends: [a] }) => ({
    backends: [a, { name: 'c', endpoints: [{ url: 'http://10.0.0.3:8000' }] }],
    models: [
      {
        name: 'm',
        deployments: [
          { backend: 'a', limits: { concurrency: 9, tokens_per_second: 100 } },
          { backend: 'c', limits: { concurrency: 7 } },
        ],
      },
    ],
  }));
  assert.deepEqual(said, [
    'backends.c: new percent',
    'backends.b: gone promotion',
    'm@a: limits promotion',
    'models percent',
  ]);
  assert.deepEqual([...merged.backends.keys()], ['a', 'b', 'c']);
  assert.deepEqual(
    merged.models.get('m')?.deployments.map(({ id, concurrency }) => `${id} ${concurrency?.limit}`),
    ['m@a 4', 'm@c 7'],
  );
  assert.equal(merged.models.get('m')?.deployments[0]?.rates ?? null, null);
});
