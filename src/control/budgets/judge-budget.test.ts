import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { BudgetRecord } from '../../core/directory.ts';
import type { BudgetStatus } from '../../core/ports/budget-state.ts';
import { budget, micro, NOON, ZONE } from './budget-kit.test.ts';
import { judgeBudget, type Judgement, spentOf } from './judge-budget.ts';
import { periodAt } from '../../lib/calendar/calendar-period.ts';

const DAY = 86_400_000;

function judge(
  spent: number,
  kept: BudgetStatus | null = null,
  changes: Partial<BudgetRecord> = {},
  now = NOON,
): Judgement {
  const reading = { spent: micro(spent), period: periodAt(now, 'day', ZONE) };
  return judgeBudget({ budget: budget(changes), reading, kept, defaults: [70, 90], now });
}

const percents = ({ alerts }: Judgement): string => alerts.map(({ percent }) => percent).join(' ');

test('alerts at 70 and 90 %, protection at exactly 100 %', () => {
  for (const [spent, alerts, protecting] of [
    [699, '', false],
    [700, '70', false],
    [899, '70', false],
    [900, '70 90', false],
    [999, '70 90', false],
    [1000, '70 90 100', true],
    [5000, '70 90 100', true],
  ] as const) {
    const made = judge(spent);
    assert.equal(percents(made), alerts, String(spent));
    assert.equal(made.status?.protecting ?? false, protecting, String(spent));
    assert.equal(made.alerts.at(-1)?.protecting ?? false, protecting);
  }
  assert.equal(judge(699).status, null);
  assert.equal(judge(699).changed, false);
});

test('an alert names one budget, period and percentage, whoever raises it', () => {
  const [seventy, ninety] = judge(900).alerts;
  assert.match(seventy?.id ?? '', /^alert_[0-9a-f]{20}$/);
  assert.notEqual(seventy?.id, ninety?.id);
  assert.equal(judge(700, null, {}, NOON + 1).alerts[0]?.id, seventy?.id);
  assert.notEqual(judge(700, null, {}, NOON + DAY).alerts[0]?.id, seventy?.id);
  assert.notEqual(judge(700, null, { id: 'budget_2' }).alerts[0]?.id, seventy?.id);
});

test('a percentage is raised once a period', () => {
  const first = judge(700);
  const again = judge(800, first.status);
  assert.deepEqual([percents(again), again.changed], ['', false]);
  const next = judge(950, first.status);
  assert.deepEqual([percents(next), next.changed, next.status?.raised.join()], ['90', true, '70,90']);
  const tomorrow = judge(700, next.status, {}, NOON + DAY);
  assert.deepEqual([percents(tomorrow), tomorrow.status?.raised.join()], ['70', '70']);
});

test('back to normal with the new period, or when raised above what is spent; never by a small correction', () => {
  const on = judge(1000).status;
  assert.equal(judge(999, on).status?.protecting, true);
  assert.equal(judge(999, on, { amount: micro(900) }).status?.protecting, true);
  assert.equal(judge(1100, on, { amount: micro(1100) }).status?.protecting, true);
  const raised = judge(1000, on, { amount: micro(1001) });
  assert.deepEqual([raised.status?.protecting, raised.changed, percents(raised)], [false, true, '']);
  assert.equal(judge(1001, raised.status, { amount: micro(1001) }).status?.protecting, true);
  const tomorrow = judge(0, on, {}, NOON + DAY);
  assert.deepEqual([tomorrow.status, tomorrow.changed], [null, true]);
});

test('own percentages in place of the defaults; 100 always; a budget of nothing is used up at once', () => {
  assert.equal(percents(judge(1000, null, { alertsAt: [50, 120, 50] })), '50 100');
  assert.equal(percents(judge(1200, null, { alertsAt: [50, 120] })), '50 100 120');
  const nothing = judge(0, null, { amount: micro(0) });
  assert.deepEqual([percents(nothing), nothing.status?.protecting], ['100', true]);
});

test('amounts near 2^53 are compared exactly', () => {
  const most = Number.MAX_SAFE_INTEGER;
  assert.equal(judge(most - 1, null, { amount: micro(most) }).status?.protecting, false);
  assert.equal(judge(most, null, { amount: micro(most) }).status?.protecting, true);
  assert.equal(spentOf(most, most - 5), 5);
  assert.equal(spentOf(most, most), 0);
});

test('over any course of spending: on exactly from 100 % on, each alert once a day', () => {
  const step = fc.record({ add: fc.nat(600), day: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), fc.integer({ min: 1, max: 1500 }), (steps, amount) => {
      let [now, spent] = [NOON, 0];
      let kept: BudgetStatus | null = null;
      const seen = new Set<string>();
      for (const { add, day } of steps) {
        if (day) [now, spent] = [now + DAY, 0];
        spent += add;
        const made: Judgement = judge(spent, kept, { amount: micro(amount) }, now);
        kept = made.status;
        assert.equal(kept?.protecting ?? false, spent >= amount);
        for (const { id } of made.alerts) {
          assert.ok(!seen.has(id), 'raised twice');
          seen.add(id);
        }
        for (const percent of [70, 90, 100]) {
          assert.equal(kept?.raised.includes(percent) ?? false, spent * 100 >= amount * percent);
        }
      }
    }),
    { numRuns: 150 },
  );
});
