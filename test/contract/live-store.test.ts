/** `LiveStore`, in memory and in Redis: one set of promises. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../src/app/wait-until.ts';
import { Redis } from 'ioredis';
import { createReadLive } from '../../src/control/live/read-live.ts';
import type { LiveStore, WorkerLive } from '../../src/core/ports/live.ts';
import { StoreUnavailable } from '../../src/core/ports/quota-store.ts';
import { createMemoryLiveStore } from '../../src/store/memory/live-store.ts';
import { createRedisLiveStore } from '../../src/store/redis/live-store.ts';
import { startRedis } from '../support/redis-server.ts';
import { openStores } from './redis-harness.ts';

interface Harness {
  /** Two processes' sides of one store. */
  readonly sides: readonly [LiveStore, LiveStore];
  /** Names of everything that is kept, where they can be seen. */
  readonly keys?: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

async function memory(): Promise<Harness> {
  const store = createMemoryLiveStore({ clock: { time: () => Date.now() } });
  return { sides: [store, store], close: async () => {} };
}

async function redis(): Promise<Harness> {
  const server = await startRedis();
  const client = new Redis(server.url);
  const call = <T>(work: () => Promise<T>): Promise<T> => work();
  const side = (): LiveStore => createRedisLiveStore({ client, call, prefix: 'tl:' });
  return {
    sides: [side(), side()],
    keys: () => client.keys('*'),
    close: async () => {
      client.disconnect();
      await server.stop();
    },
  };
}

const state = (replica: string, worker: number, running = 0): WorkerLive => ({
  replica,
  worker,
  startedAt: 1,
  at: 2,
  running,
  rows: [
    {
      route: 'r "ä"',
      model: 'm',
      deployment: 'm@b',
      backend: 'b',
      running,
      requests: 3,
      errors: 1,
      tokens: 9_007_199_254_740_991,
      latency: [17, 2, 400, 1],
      firstToken: [],
    },
  ],
});

const KEEP_MS = 60_000;

for (const [name, open] of Object.entries({ memory, redis })) {
  describe(`LiveStore in ${name}`, () => {
    let harness: Harness;
    before(async () => {
      harness = await open();
    });
    after(() => harness.close());
    const seen = async (side: 0 | 1 = 1) =>
      (await harness.sides[side].read()).toSorted((a, b) => a.worker - b.worker || (a.replica < b.replica ? -1 : 1));

    test('says nothing before anybody spoke', async () => {
      assert.deepEqual(await seen(), []);
    });

    test('gives what each worker said last, as it said it', async () => {
      const [one] = harness.sides;
      await one.publish(state('host:ä/1', 0), KEEP_MS);
      await one.publish(state('host:ä/1', 1), KEEP_MS);
      await one.publish(state('host-2', 1, 4), KEEP_MS);
      await one.publish(state('host:ä/1', 0, 7), KEEP_MS);
      assert.deepEqual(await seen(), [state('host:ä/1', 0, 7), state('host-2', 1, 4), state('host:ä/1', 1)]);
    });

    test('forgets who leaves, and who is silent', async () => {
      const [one] = harness.sides;
      await one.leave('host:ä/1', 0);
      await one.leave('nobody', 9);
      assert.equal((await seen()).length, 2);
      await one.publish(state('host-2', 1), 30);
      await one.publish(state('host:ä/1', 1), 30);
      await sleep(60);
      assert.deepEqual(await seen(), []);
    });

    // What memory keeps cannot be seen.
    if (name === 'memory') return;
    test('keeps nothing of workers that came and went', async () => {
      const { keys = async () => [], sides } = harness;
      for (let index = 0; index < 20; index += 1) await sides[0].publish(state(`gone-${index}`, 0), 20);
      await sleep(40);
      await sides[0].publish(state('here', 0), 1000);
      assert.deepEqual((await keys()).toSorted(), ['tl:{~}:live', 'tl:{~}:live:here:0']);
      assert.ok(await waitUntil(async () => (await keys()).length === 0, { timeoutMs: 10_000 }));
    });
  });
}

test('while Redis is away, readers have what was known last, and a worker that speaks waits for nobody', async () => {
  const server = await startRedis();
  const stores = await openStores(server.url, { commandTimeoutMs: 200 });
  try {
    const read = createReadLive({ store: stores.live, clock: { time: () => 1000 } });
    await stores.live.publish(state('here', 0, 3), KEEP_MS);
    assert.deepEqual((await read()).replicas, [{ id: 'here', startedAt: 1, workers: 1, running: 3 }]);
    await server.stop();
    const began = performance.now();
    await assert.rejects(stores.live.publish(state('here', 0, 4), KEEP_MS), StoreUnavailable);
    assert.deepEqual((await read()).replicas, [{ id: 'here', startedAt: 1, workers: 1, running: 3 }]);
    assert.ok(performance.now() - began < 2000);
  } finally {
    await stores.close();
  }
});
