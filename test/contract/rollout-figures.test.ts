/** `RolloutFigureStore`, in memory and in Redis: one set of promises. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Redis } from 'ioredis';
import { mergeFigures } from '../../src/control/rollout/figures.ts';
import type { RolloutFigureStore } from '../../src/core/ports/rollout.ts';
import type { RolloutFigures } from '../../src/core/rollout.ts';
import { createMemoryRolloutFigures } from '../../src/store/memory/rollout-figures.ts';
import { createRedisRolloutFigures } from '../../src/store/redis/rollout-figures.ts';
import { startRedis } from '../support/redis-server.ts';

interface Harness {
  readonly store: RolloutFigureStore;
  /** Milliseconds that what is kept has left, where that can be seen. */
  readonly left?: (rollout: string) => Promise<number>;
  readonly close: () => Promise<void>;
}

async function redis(): Promise<Harness> {
  const server = await startRedis();
  const client = new Redis(server.url);
  return {
    store: createRedisRolloutFigures({ client, call: (work) => work(), prefix: 'tl:' }),
    left: (rollout) => client.pttl(`tl:{~}:rollout:${rollout}`),
    close: async () => {
      client.disconnect();
      await server.stop();
    },
  };
}

const memory = async (): Promise<Harness> => ({ store: createMemoryRolloutFigures(), close: async () => {} });

const figures = (requests: number): RolloutFigures => ({
  old: { requests, errors: 1, times: [3, requests] },
  new: { requests: 1, errors: 0, times: [7, 1] },
});

for (const [name, open] of Object.entries({ memory, redis }))
  describe(`roll-out figures: ${name}`, () => {
    let harness: Harness;
    before(async () => {
      harness = await open();
    });
    after(() => harness.close());

    test('the last word of each process counts, also of those that are gone; roll-outs do not mix', async () => {
      const { store, left } = harness;
      assert.deepEqual(await store.read('rollout_1'), []);
      await store.publish('rollout_1', 'host 1:"ä"', figures(5));
      await store.publish('rollout_1', 'host 1:"ä"', figures(8));
      await store.publish('rollout_1', 'host-2', figures(2));
      const all = mergeFigures(await store.read('rollout_1'));
      assert.deepEqual(all, {
        old: { requests: 10, errors: 2, times: [3, 10] },
        new: { requests: 2, errors: 0, times: [7, 2] },
      });
      await store.publish('rollout_2', 'host-2', figures(1));
      assert.equal((await store.read('rollout_2')).length, 1);
      if (left === undefined) return;
      const ms = await left('rollout_1');
      assert.ok(ms > 0 && ms <= 7 * 24 * 3_600_000, String(ms));
    });
  });
