import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BudgetRecord } from '../../core/directory.ts';
import { NO_DIRECTORY } from '../../core/ports/directory-view.ts';
import { createMemoryBudgetState } from '../../store/memory/budget-state.ts';
import { createMemoryLeaderLease } from '../../store/memory/leader.ts';
import { inTime } from '../../../test/support/in-time.ts';
import { budget, configWith, micro, silentLog, World, worldly } from './budget-kit.test.ts';
import { watchBudgets, type WatchedBudgets } from './watch-budgets.ts';

/** Gives by how many milliseconds it came later than it must. */
async function within(ms: number, holds: () => boolean): Promise<number> {
  const began = performance.now();
  while (!holds() && performance.now() < began + 20_000) await sleep(5);
  assert.ok(holds(), 'did not come about');
  return performance.now() - began - ms;
}

/** Replicas over one store, with real time for leases and a time that stands still for budgets. */
function cluster(size: number) {
  const world = new World();
  const real = { now: () => performance.now(), time: () => world.time };
  const state = worldly(world, createMemoryBudgetState({ clock: real }));
  const memory = createMemoryLeaderLease({ clock: real });
  const lease = {
    hold: async (...args: Parameters<typeof memory.hold>) => {
      world.check();
      return memory.hold(...args);
    },
    release: (name: string, holder: string) => memory.release(name, holder),
  };
  const listeners: (() => void)[] = [];
  const sent: string[] = [];
  const made = {
    world,
    sent,
    budgets: [budget()] as readonly BudgetRecord[],
    changed: () => listeners.forEach((tell) => tell()),
  };
  const directory = {
    view: NO_DIRECTORY,
    budgets: () => made.budgets,
    onChange: (listener: () => void) => void listeners.push(listener),
  };
  const replicas: WatchedBudgets[] = Array.from({ length: size }, (_, at) =>
    watchBudgets({
      quota: world,
      state,
      lease,
      directory,
      config: () => configWith(),
      holder: `replica-${at}`,
      clock: real,
      log: silentLog,
      metrics: { anomaly: () => {} },
      figures: world.figures,
      send: async (_channel, { percent }) => void sent.push(String(percent)),
    }),
  );
  const all = (line: string, on: boolean) => () =>
    replicas.every(({ protection }) => (protection.of('acme', line) !== null) === on);
  return { ...made, made, replicas, all };
}

test('three replicas: all see protection within a second, alerts are sent once, a change of the budget holds at once', () =>
  inTime(async () => {
    const c = cluster(3);
    const late = [await within(500, () => c.replicas.some((each) => each.leading()))];
    c.world.spend('line:search', 1000);
    late.push(await within(1000, c.all('search', true)));
    late.push(await within(1000, () => c.sent.length === 3));
    assert.deepEqual(c.sent.toSorted(), ['100', '70', '90']);
    c.made.budgets = [budget({ amount: micro(5000) })];
    c.changed();
    late.push(await within(100, c.all('search', false)));
    assert.equal(c.replicas.filter((each) => each.leading()).length, 1);
    await Promise.all(c.replicas.map((each) => each.close()));
    assert.equal(c.sent.length, 3);
    return Math.max(...late);
  }));

test('with the store gone everyone keeps the last state', () =>
  inTime(async () => {
    const c = cluster(2);
    c.world.spend('line:search', 1000);
    const late = [await within(1500, c.all('search', true))];
    c.world.gone = true;
    await sleep(1200);
    await within(2000, () => !c.replicas.some((each) => each.leading()));
    assert.ok(c.all('search', true)());
    c.world.gone = false;
    c.made.budgets = [];
    late.push(await within(1500, c.all('search', false)));
    await Promise.all(c.replicas.map((each) => each.close()));
    return Math.max(...late);
  }));
