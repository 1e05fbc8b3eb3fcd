import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LiveState } from '../core/ports/live.ts';
import { nameOf } from '../core/places.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { routingView } from './routing-view.ts';
import { serverStatus } from './server-status.ts';

const deployment = (backend: string, price = 1, currency = 'USD') => ({
  id: `m@${backend}`,
  backend: { name: backend },
  upstreamModel: 'm',
  weight: 1,
  price: { currency, promptPerMtok: price, completionPerMtok: price },
});
const configOf = (...deployments: readonly object[]): Snapshot =>
  ({
    generation: 3,
    models: new Map([['m', { name: 'm', stage: 'full', fallback: [], deployments }]]),
    routes: [],
    ledger: { zone: 'UTC' },
    audit: null,
  }) as unknown as Snapshot;

const row = (backend: string, requests: number, errors: number, running = 0): LiveState['rows'][number] => ({
  route: 'r',
  model: 'm',
  deployment: `m@${backend}`,
  backend,
  running,
  requests,
  errors,
  tokens: 0,
  latencyP50: null,
  latencyP95: null,
  firstTokenP50: null,
  coldShare: null,
  warmP95: null,
});

test('a deployment is what its tries of the last minute say, over all routes', () => {
  const rows = [row('a', 10, 4, 1), row('a', 1, 1, 2), row('b', 2, 1), row('c', 0, 0, 5), row('gone', 9, 9)];
  const config = configOf(deployment('a'), deployment('b'), deployment('c'), deployment('d'));
  const [model] = routingView(config, { at: 0, replicas: [], rows, queues: [] }).models;
  assert.deepEqual(
    model?.deployments.map(({ id, state, running }) => [id, state, running]),
    [
      ['m@a', 'healthy', 3],
      ['m@b', 'failing', 0],
      ['m@c', 'unknown', 5],
      ['m@d', 'unknown', 0],
    ],
  );
});

test('what probes found stands beside it', () => {
  const config = configOf(deployment('a'), deployment('b'));
  const finding = { factor: 1 / 3, reason: 'service_down', detail: 'answered 500', until: 9 } as const;
  const [model] = routingView(config, { at: 0, replicas: [], rows: [], queues: [] }, (place) =>
    nameOf(place) === 'm@a' ? [{ source: 'service', finding }] : [],
  ).models;
  assert.deepEqual(
    model?.deployments.map(({ findings }) => findings),
    [[{ source: 'service', factor: 0.333, reason: 'service_down', detail: 'answered 500' }], []],
  );
});

test('a server has a currency where all that is paid has the same', () => {
  const audit = { state: () => 'ok' as const };
  const currency = (...deployments: readonly object[]) => serverStatus(configOf(...deployments), audit, null).currency;
  assert.equal(currency(deployment('a', 1, 'EUR'), deployment('b', 0, 'USD')), 'EUR');
  assert.equal(currency(deployment('a', 1, 'EUR'), deployment('b', 1, 'USD')), null);
  assert.equal(currency(), null);
  assert.equal(serverStatus(configOf(), audit, null).audit, null);
  assert.match(serverStatus(configOf(), audit, null).version, /^\d+\.\d+\.\d+/);
});

test('of a pool each endpoint is shown, and all of them together', () => {
  const endpoints = [
    { host: '10.0.0.1', port: 80, weight: 1, zone: 'a' },
    { host: '10.0.0.2', port: 80, weight: 1 },
  ];
  const pool = { ...deployment('p'), backend: { name: 'p', pool: { slowStartMs: 0 }, endpoints } };
  const at = (address: string, requests: number, errors: number, running: number) => ({
    ...row('p', requests, errors, running),
    deployment: `m@p/${address}`,
  });
  const rows = [at('10.0.0.1:80', 10, 0, 2), at('10.0.0.2:80', 4, 4, 1), row('p', 9, 9, 9)];
  const finding = { factor: 0, reason: 'service_down', detail: 'answered 500', until: 9 } as const;
  const [model] = routingView(configOf(pool), { at: 0, replicas: [], rows, queues: [] }, (place) =>
    nameOf(place) === 'm@p/10.0.0.2:80' ? [{ source: 'service', finding }] : [],
  ).models;
  const [shown] = model?.deployments ?? [];
  assert.deepEqual([shown?.state, shown?.running, shown?.findings], ['healthy', 3, []]);
  assert.deepEqual(
    shown?.endpoints?.map(({ address, zone, state, running, findings }) => [
      address,
      zone,
      state,
      running,
      findings.length,
    ]),
    [
      ['10.0.0.1:80', 'a', 'healthy', 2, 0],
      ['10.0.0.2:80', null, 'failing', 1, 1],
    ],
  );
});
