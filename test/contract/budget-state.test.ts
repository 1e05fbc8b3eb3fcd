/** `BudgetStateStore` and `LeaderLease`, in memory and in Redis: one set of promises. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { microUnits } from '../../src/core/money.ts';
import type { BudgetAlert, BudgetStateStore, BudgetStatus } from '../../src/core/ports/budget-state.ts';
import type { LeaderLease } from '../../src/core/ports/leader.ts';
import { createMemoryBudgetState } from '../../src/store/memory/budget-state.ts';
import { createMemoryLeaderLease } from '../../src/store/memory/leader.ts';
import { createRedisBudgetState } from '../../src/store/redis/budget-state.ts';
import { createRedisLeaderLease } from '../../src/store/redis/leader.ts';
import { startRedis } from '../support/redis-server.ts';

interface Harness {
  readonly lease: LeaderLease;
  /** Two processes' sides of one store. */
  readonly states: readonly [BudgetStateStore, BudgetStateStore];
  readonly close: () => Promise<void>;
}

const status = (budget: string, protecting = true): BudgetStatus => ({
  budget,
  tenant: 'acme',
  businessLine: null,
  period: '2026-03',
  until: 1,
  raised: [70],
  protecting,
  amount: microUnits(2),
  spent: microUnits(1),
  currency: 'USD',
});

const alert = (id: string): BudgetAlert => ({
  id,
  budget: 'budget_1',
  tenant: 'acme "ä"',
  businessLine: 'search',
  period: '2026-03',
  percent: 70,
  amount: microUnits(2),
  spent: microUnits(1),
  currency: 'USD',
  protecting: false,
  time: 1,
});

async function memory(): Promise<Harness> {
  const clock = { now: () => performance.now() };
  const state = createMemoryBudgetState({ clock });
  return { lease: createMemoryLeaderLease({ clock }), states: [state, state], close: async () => {} };
}

async function redis(): Promise<Harness> {
  const server = await startRedis();
  const client = new Redis(server.url);
  const call = <T>(work: () => Promise<T>): Promise<T> => work();
  const side = (): BudgetStateStore =>
    createRedisBudgetState({
      client,
      call,
      prefix: 'tl:',
      connect: () => new Redis(server.url, { enableOfflineQueue: false }),
    });
  return {
    lease: createRedisLeaderLease({ client, call, prefix: 'tl:' }),
    states: [side(), side()],
    close: async () => {
      client.disconnect();
      await server.stop();
    },
  };
}

async function within(ms: number, holds: () => boolean): Promise<void> {
  for (let i = 0; i < ms / 5 && !holds(); i += 1) await sleep(5);
  assert.ok(holds(), 'did not come about');
}

for (const [name, open] of Object.entries({ memory, redis })) {
  describe(name, () => {
    let harness: Harness;
    before(async () => {
      harness = await open();
    });
    after(() => harness.close());

    test('statuses are written, replaced, dropped and heard of', async () => {
      const [mine, theirs] = harness.states;
      let heard = 0;
      const watching = theirs.watch(() => (heard += 1));
      await sleep(50);
      const before = heard;
      await mine.put(status('a'));
      await within(1000, () => heard > before);
      await mine.put(status('b'));
      await mine.put(status('a', false));
      const all = (await theirs.list()).toSorted((x, y) => (x.budget < y.budget ? -1 : 1));
      assert.deepEqual(all, [status('a', false), status('b')]);
      await mine.drop('a');
      await mine.drop('unknown');
      assert.deepEqual(await theirs.list(), [status('b')]);
      watching.close();
    });

    test('an alert is raised by one of many, for each of its channels, and may be raised again when it is forgotten', async () => {
      const [mine, theirs] = harness.states;
      const raised = await Promise.all(
        Array.from({ length: 30 }, (_, at) => (at % 2 === 0 ? mine : theirs).raise(alert('x'), ['ops', 'a b'], 1000)),
      );
      assert.equal(raised.filter(Boolean).length, 1);
      const pending = await mine.pending(10);
      assert.deepEqual(pending.map((each) => each.channel).toSorted(), ['a b', 'ops']);
      assert.deepEqual(pending[0]?.alert, alert('x'));
      await mine.delivered('x', 'a b');
      await mine.delivered('x', 'a b');
      assert.deepEqual(
        (await theirs.pending(10)).map((each) => each.channel),
        ['ops'],
      );
      await theirs.delivered('x', 'ops');
      assert.equal(await theirs.raise(alert('x'), [], 1000), false);
      await sleep(1050);
      assert.equal(await theirs.raise(alert('x'), [], 1000), true);
      assert.deepEqual(await theirs.pending(10), []);
    });

    test('all that is pending comes round, whatever stays', async () => {
      const [mine] = harness.states;
      for (let i = 0; i < 700; i += 1) await mine.raise(alert(`many-${i}`), ['ops'], 60_000);
      const seen = new Set<string>();
      for (let i = 0; i < 50 && seen.size < 700; i += 1)
        for (const each of await mine.pending(50)) seen.add(each.alert.id);
      assert.equal(seen.size, 700);
    });

    test('a lease has one holder, ends by itself, and is given back by its holder alone', async () => {
      const { lease } = harness;
      const asked = await Promise.all(['a', 'b', 'c'].map((holder) => lease.hold('l', holder, 5000)));
      assert.equal(asked.filter(Boolean).length, 1);
      const [holder, other] = asked[0] === true ? ['a', 'b'] : ['b', 'a'];
      assert.ok(asked[0] === true || asked[1] === true);
      assert.equal(await lease.hold('l', holder, 5000), true);
      assert.equal(await lease.hold('other', other, 300), true);
      await lease.release('l', other);
      assert.equal(await lease.hold('l', other, 5000), false);
      await lease.release('l', holder);
      assert.equal(await lease.hold('l', other, 50), true);
      await sleep(80);
      assert.equal(await lease.hold('l', holder, 50), true);
    });
  });
}
