import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Deployment } from '../../core/snapshot.ts';
import { Gates, slotsOf } from './gates.ts';
import { deployment } from './schedule-bench.ts';

const nothing = (): void => {};
const metrics = { slots: nothing, rateShare: nothing };

test('slots by instance: so many at each endpoint that is well, a part of that, and one at least', () => {
  const by = { limit: 89, perInstance: { slots: 32, safety: 0.7 } };
  assert.equal(slotsOf(by, 4, 1), 89);
  assert.equal(slotsOf(by, 4, 0.5), 44);
  assert.equal(slotsOf(by, 3, 2 / 3), 44);
  assert.equal(slotsOf(by, 4, 0), 1);
  assert.equal(slotsOf({ limit: 7, perInstance: null }, 4, 0.5), 7);
});

test('slots follow the endpoints, and who waits is told of new room', () => {
  let alive = 0.5;
  const gates = new Gates({
    workers: 1,
    workerIndex: 0,
    metrics,
    clock: { now: () => 0 },
    sharesRates: false,
    aliveOf: () => alive,
  });
  const told: string[] = [];
  gates.onRoom(({ id }) => told.push(id));
  const by: Deployment = {
    ...deployment('m'),
    backend: { name: 'b', endpoints: [{}, {}] },
    concurrency: { limit: 2, perInstance: { slots: 1, safety: 1 } },
  } as unknown as Deployment;
  const gate = gates.of(by, 1);
  assert.ok(gate !== null && gate.enter(1) !== null && gate.enter(1) === null);
  told.length = 0;
  gates.refresh();
  assert.deepEqual(told, []);
  alive = 1;
  gates.refresh();
  assert.deepEqual(told, ['m']);
  assert.ok(gate.enter(1) !== null);
});

test('where a store shares rates out, nothing passes before a share is there, and a share that is taken back stops it', () => {
  const clock = { at: 0, now: () => clock.at };
  const gates = new Gates({ workers: 2, workerIndex: 0, metrics, clock, sharesRates: true, aliveOf: () => 1 });
  const rated = {
    ...deployment('m'),
    rates: { tokensPerSecond: null, requestsPerSecond: 10, burstMs: 1000 },
  } as Deployment;
  const config = { generation: 1, models: new Map([['m', { deployments: [rated] }]]) } as never;
  const gate = gates.of(rated, 1);
  clock.at = 60_000;
  assert.equal(gate?.enter(1), null);
  assert.equal(gates.wishes(config)[0]?.held, 0);
  gates.grant([4]);
  clock.at += 1000;
  const taken = Array.from({ length: 10 }, () => gate?.enter(1)).filter((entry) => entry !== null);
  assert.equal(taken.length, 4);
  assert.equal(gates.wishes(config)[0]?.held, 4);
  gates.grant([0]);
  clock.at += 60_000;
  assert.equal(gate?.enter(1), null);
  gates.grant([10]);
  clock.at += 100;
  assert.notEqual(gate?.enter(1), null);
});

test('without a store each worker has its part', () => {
  const gates = new Gates({
    workers: 4,
    workerIndex: 3,
    metrics,
    clock: { now: () => 0 },
    sharesRates: false,
    aliveOf: () => 1,
  });
  const rated = {
    ...deployment('m'),
    rates: { tokensPerSecond: 100, requestsPerSecond: 10, burstMs: 1000 },
  } as Deployment;
  const config = { generation: 1, models: new Map([['m', { deployments: [rated, deployment('free')] }]]) } as never;
  assert.deepEqual(
    gates.wishes(config).map(({ name, held }) => [name, held]),
    [
      ['m tokens', 25],
      ['m requests', 2.5],
    ],
  );
  assert.equal(gates.of(deployment('free'), 1), null);
});

test('a reload makes room for who waits, without another request; one that takes the bounds away does, too', () => {
  const gates = new Gates({
    workers: 1,
    workerIndex: 0,
    metrics,
    clock: { now: () => 0 },
    sharesRates: true,
    aliveOf: () => 1,
  });
  const config = (generation: number, options: Parameters<typeof deployment>[1]) =>
    ({ generation, models: new Map([['m', { deployments: [deployment('m', options)] }]]) }) as never;
  const gate = gates.of(deployment('m', { limit: 1, queue: 0 }), 1);
  assert.ok(gate !== null && gate.enter(1) !== null && !gate.fits(1));
  const told: string[] = [];
  gates.onRoom(({ id }) => told.push(id));
  gates.wishes(config(2, { limit: 2, queue: 0 }));
  assert.deepEqual([told, gate.fits(1)], [['m'], true]);
  assert.ok(gate.enter(1) !== null && !gate.fits(1));
  gates.wishes(config(3, null));
  assert.deepEqual([told, gate.fits(1)], [['m', 'm'], true]);
  assert.equal(gates.of(deployment('m'), 3), null);
});

test('rates of two configurations are wished for at once, and those of both only once', () => {
  const gates = new Gates({
    workers: 1,
    workerIndex: 0,
    metrics,
    clock: { now: () => 0 },
    sharesRates: true,
    aliveOf: () => 1,
  });
  const rated = (id: string) =>
    ({ ...deployment(id), rates: { tokensPerSecond: null, requestsPerSecond: 10, burstMs: 1000 } }) as Deployment;
  const config = (...ids: string[]) =>
    ({ generation: 1, models: new Map([['m', { deployments: ids.map(rated) }]]) }) as never;
  assert.deepEqual(
    gates.wishes(config('a', 'b'), config('b', 'c')).map(({ name }) => name),
    ['a requests', 'b requests', 'c requests'],
  );
  gates.grant([1, 2, 3]);
  assert.equal(gates.of(rated('c'), 1)?.rates()[0]?.[1].share, 3);
});
