import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BudgetStatus } from '../../core/ports/budget-state.ts';
import { createMemoryBudgetState } from '../../store/memory/budget-state.ts';
import { micro, NOON, silentLog, World, worldly } from './budget-kit.test.ts';
import { followProtection } from './follow-protection.ts';

const HOUR = 3_600_000;

function status(budget: string, businessLine: string | null, changes: Partial<BudgetStatus> = {}): BudgetStatus {
  return {
    budget,
    tenant: 'acme',
    businessLine,
    period: '2026-03-31',
    until: NOON + HOUR,
    raised: [70, 90, 100],
    protecting: true,
    amount: micro(1),
    spent: micro(1),
    currency: 'USD',
    ...changes,
  };
}

function bench({ pollMs = 60_000 } = {}) {
  const world = new World();
  const memory = createMemoryBudgetState({ clock: world.clock });
  const counts: number[] = [];
  const figures = { ...world.figures, protecting: (count: number) => void counts.push(count) };
  const state = worldly(world, memory);
  const following = followProtection({ state, clock: world.clock, log: silentLog, figures, pollMs });
  const of = (line: string, tenant = 'acme') => following.view.of(tenant, line)?.budget ?? null;
  return { world, memory, counts, following, of };
}

test('a line by its own budget, else by that of its tenant', async () => {
  const b = bench();
  await b.memory.put(status('whole', null));
  await b.memory.put(status('line', 'search'));
  await b.memory.put(status('warned', 'ads', { protecting: false }));
  await b.following.refresh();
  assert.deepEqual([b.of('search'), b.of('ads'), b.of('search', 'other')], ['line', 'whole', null]);
  await b.memory.drop('whole');
  await b.following.refresh();
  assert.deepEqual([b.of('search'), b.of('ads')], ['line', null]);
  assert.equal(b.counts.at(-1), 1);
  b.following.close();
});

async function until(holds: () => boolean): Promise<void> {
  for (let i = 0; i < 1000 && !holds(); i += 1) await sleep(5);
  assert.ok(holds(), 'did not come about');
}

test('a change is heard, and one that was not heard is found', async () => {
  const heard = bench();
  await heard.memory.put(status('line', 'search'));
  await until(() => heard.of('search') === 'line');
  heard.following.close();
  await heard.memory.drop('line');
  await sleep(20);
  assert.equal(heard.of('search'), 'line');

  const polled = bench({ pollMs: 10 });
  polled.memory.watch = () => ({ close: () => {} });
  const quiet = followProtection({
    state: { list: () => polled.memory.list(), watch: () => ({ close: () => {} }) },
    clock: polled.world.clock,
    log: silentLog,
    figures: polled.world.figures,
    pollMs: 10,
  });
  await polled.memory.put(status('line', 'search'));
  await until(() => quiet.view.of('acme', 'search')?.budget === 'line');
  quiet.close();
  polled.following.close();
});

test('while the store is gone the last state holds, until the period ends', async () => {
  const b = bench({ pollMs: 10 });
  await b.memory.put(status('line', 'search'));
  await b.following.refresh();
  b.world.gone = true;
  await b.memory.drop('line');
  await sleep(40);
  b.world.time = NOON + HOUR - 1;
  assert.equal(b.of('search'), 'line');
  b.world.time = NOON + HOUR;
  assert.equal(b.of('search'), null);
  b.following.close();
});
