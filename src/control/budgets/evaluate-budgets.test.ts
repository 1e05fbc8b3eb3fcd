import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { BudgetRecord, LineRecord } from '../../core/directory.ts';
import { StoreUnavailable } from '../../core/ports/quota-store.ts';
import { createMemoryBudgetState } from '../../store/memory/budget-state.ts';
import { budget, channel, configWith, micro, silentLog, World, worldly } from './budget-kit.test.ts';
import { createBudgetRound } from './evaluate-budgets.ts';

const DAY = 86_400_000;

function bench(budgets: readonly BudgetRecord[] = [budget()], line: Partial<LineRecord> | null = null) {
  const world = new World();
  const state = worldly(world, createMemoryBudgetState({ clock: world.clock }));
  const made = {
    world,
    state,
    budgets: budgets as readonly BudgetRecord[] | null,
    anomalies: [] as string[],
    replica: () =>
      createBudgetRound({
        quota: world,
        state,
        budgets: (): readonly BudgetRecord[] | null => made.budgets,
        line: () => line as LineRecord | null,
        config: () => configWith([channel(), channel({ name: 'pager' })]),
        clock: world.clock,
        log: silentLog,
        metrics: { anomaly: (kind: string) => void made.anomalies.push(kind) },
        figures: world.figures,
      }),
    protecting: async (): Promise<string> =>
      (await state.list())
        .filter((each) => each.protecting)
        .map((each) => each.budget)
        .join(' '),
  };
  return made;
}

test('from the counter to the alert and to protection, and back with the new day', async () => {
  const b = bench();
  const round = b.replica();
  b.world.spend('line:search', 700);
  await round();
  await round();
  assert.deepEqual(b.world.told, ['search 70']);
  assert.deepEqual(
    (await b.state.pending(9)).map((each) => each.channel),
    ['ops', 'pager'],
  );
  b.world.spend('line:search', 1000);
  await round();
  assert.deepEqual(b.world.told, ['search 70', 'search 90', 'search 100']);
  assert.equal(await b.protecting(), 'budget_1');
  b.world.time += DAY;
  await round();
  assert.equal(await b.protecting(), '');
  assert.deepEqual(await b.state.list(), []);
});

test('tenant and line, day and month, each by its own counter', async () => {
  const b = bench([
    budget({ id: 'a', businessLine: null }),
    budget({ id: 'b', period: 'month' }),
    budget({ id: 'c' }),
    budget({ id: 'd', tenant: 'other' }),
  ]);
  b.world.spend('line:search', 1000, 'month');
  await b.replica()();
  assert.equal(await b.protecting(), 'b');
  b.world.spend('tenant', 1000);
  await b.replica()();
  assert.equal(await b.protecting(), 'b a');
});

test('alerts go to the channels of the line, else to the default ones', async () => {
  const b = bench([budget(), budget({ id: 'whole', businessLine: null })], { channels: ['pager'] });
  b.world.spend('line:search', 700);
  b.world.spend('tenant', 700);
  await b.replica()();
  assert.deepEqual(
    (await b.state.pending(9)).map((each) => `${each.alert.budget} ${each.channel}`),
    ['budget_1 pager', 'whole ops', 'whole pager'],
  );
});

test('three replicas that all think they lead raise each alert once', async () => {
  const course = fc.array(fc.nat(400), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(course, async (adds) => {
      const b = bench();
      const replicas = [b.replica(), b.replica(), b.replica()];
      let spent = 0;
      for (const add of adds) {
        spent += add;
        b.world.spend('line:search', spent);
        await Promise.all(replicas.map((round) => round()));
        assert.equal(await b.protecting(), spent >= 1000 ? 'budget_1' : '');
      }
      const expected = [70, 90, 100]
        .filter((percent) => spent * 100 >= 1000 * percent)
        .map((percent) => `search ${percent}`);
      assert.deepEqual(b.world.told.toSorted(), expected.toSorted());
      assert.equal((await b.state.pending(99)).length, expected.length * 2);
    }),
    { numRuns: 40 },
  );
});

test('a leader that stops in the middle leaves nothing undone', async () => {
  const b = bench();
  b.world.spend('line:search', 950);
  // The store is gone after the first of two alerts.
  let raises = 0;
  const raise = b.state.raise.bind(b.state);
  b.state.raise = async (...args) => {
    raises += 1;
    if (raises === 2) throw new StoreUnavailable('gone');
    return raise(...args);
  };
  await assert.rejects(b.replica()(), StoreUnavailable);
  assert.deepEqual(b.world.told, ['search 70']);
  await b.replica()();
  assert.deepEqual(b.world.told, ['search 70', 'search 90']);
});

test('with the store gone nothing changes, and with the directory unknown nobody leaves protection', async () => {
  const b = bench();
  b.world.spend('line:search', 1000);
  await b.replica()();
  b.world.gone = true;
  await assert.rejects(b.replica()(), StoreUnavailable);
  b.world.gone = false;
  b.budgets = null;
  await b.replica()();
  assert.equal(await b.protecting(), 'budget_1');
  b.budgets = [];
  await b.replica()();
  assert.equal(await b.protecting(), '');
});

test('a budget that is raised ends protection, one that is lowered begins it', async () => {
  const b = bench();
  b.world.spend('line:search', 1000);
  await b.replica()();
  b.budgets = [budget({ amount: micro(2000) })];
  await b.replica()();
  assert.equal(await b.protecting(), '');
  b.budgets = [budget({ amount: micro(900) })];
  await b.replica()();
  assert.equal(await b.protecting(), 'budget_1');
  assert.deepEqual(b.world.told, ['search 70', 'search 90', 'search 100']);
});

test('a budget in another currency than prices is told of once and not watched', async () => {
  const b = bench([budget({ currency: 'EUR' })]);
  b.world.spend('line:search', 1000);
  const round = b.replica();
  await round();
  await round();
  assert.deepEqual(b.anomalies, ['budget_currency']);
  assert.deepEqual(await b.state.list(), []);
});
