import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { microUnits } from '../../core/money.ts';
import { StoreUnavailable } from '../../core/ports/quota-store.ts';
import { periodAt } from '../../lib/calendar/calendar-period.ts';
import { budget, configWith, NOON, ZONE } from './budget-kit.test.ts';
import { createReadBudgets, standingOf } from './read-budgets.ts';

const DAY = periodAt(NOON, 'day', ZONE);
const MOST = Number.MAX_SAFE_INTEGER;
const standing = (amount: number, spent: number, now: number) =>
  standingOf({ amount: microUnits(amount) }, { spent: microUnits(spent), period: DAY }, now);

test('half of a day gone: the forecast is twice what was spent, and the end of the money is on its line', () => {
  const at = standing(1000, 400, NOON);
  assert.deepEqual(at, {
    from: DAY.start,
    to: DAY.end,
    spent: 400,
    percent: 40,
    forecast: 800,
    exhaustedAt: null,
  });
  assert.equal(standing(600, 400, NOON).exhaustedAt, DAY.start + 18 * 3_600_000);
  // When it was used up is not known.
  assert.equal(standing(400, 400, NOON).exhaustedAt, null);
  assert.equal(standing(200, 400, NOON).exhaustedAt, null);
});

test('percentages are rounded down, so that 100 means used up', () => {
  assert.equal(standing(100_000, 99_999, NOON).percent, 99.9);
  assert.equal(standing(3, 1, NOON).percent, 33.3);
  assert.equal(standing(MOST, MOST - 1, NOON).percent, 99.9);
});

test('nothing spent is nothing forecast; a budget of nothing is used up from the beginning', () => {
  const idle = standing(1000, 0, NOON);
  assert.deepEqual([idle.percent, idle.forecast, idle.exhaustedAt], [0, 0, null]);
  const none = standing(0, 0, NOON);
  assert.deepEqual([none.percent, none.forecast, none.exhaustedAt], [100, 0, null]);
});

test('the first second of a period forecasts no more than a hundredfold', () => {
  assert.equal(standing(1000, 7, DAY.start).forecast, 700);
  assert.equal(standing(1000, 7, DAY.start - 5000).forecast, 700, 'nor does a clock that is behind');
  assert.equal(standing(1000, 7, DAY.end + 5000).forecast, 7, 'nor one that is ahead');
});

test('whatever is spent, when: whole numbers in their bounds, and a forecast on the side of the money', () => {
  const amounts = fc.oneof(fc.nat({ max: 5 }), fc.maxSafeNat());
  fc.assert(
    fc.property(amounts, amounts, fc.integer({ min: -1000, max: 90_000_000 }), (amount, spent, into) => {
      const now = DAY.start + into;
      const at = standing(amount, spent, now);
      assert.ok(Number.isSafeInteger(at.forecast) && at.forecast >= spent);
      assert.ok(Number.isFinite(at.percent) && at.percent >= 0);
      assert.equal(at.percent >= 100, spent >= amount);
      if (at.exhaustedAt === null) assert.ok(spent >= amount || at.forecast <= amount + 1);
      else {
        assert.ok(
          Number.isSafeInteger(at.exhaustedAt) && at.exhaustedAt >= DAY.start && at.exhaustedAt < DAY.end + 5e6,
        );
        assert.ok(spent < amount && at.forecast >= amount - 1 && at.exhaustedAt < DAY.end);
      }
    }),
  );
});

test('reads the counters of several tenants, says who protects, and leaves out what cannot be measured', async () => {
  const asked: [string, number][] = [];
  const read = createReadBudgets({
    quota: {
      peek: async (tenant, lines) => {
        asked.push([tenant, lines.length]);
        return lines.map((line) => ({ line, remaining: line.limit - 500, resetMs: DAY.end - NOON }));
      },
    },
    state: {
      list: async () => [
        {
          budget: 'budget_1',
          tenant: 'acme',
          businessLine: 'search',
          period: DAY.id,
          until: DAY.end,
          raised: [100],
          protecting: true,
          amount: microUnits(1000),
          spent: microUnits(1000),
          currency: 'USD',
        },
        {
          budget: 'budget_2',
          tenant: 'acme',
          businessLine: null,
          period: '2026-03-30',
          until: DAY.start,
          raised: [100],
          protecting: true,
          amount: microUnits(1000),
          spent: microUnits(1000),
          currency: 'USD',
        },
      ],
    },
    config: () => configWith(),
    clock: { time: () => NOON },
  });
  const found = await read([
    budget(),
    budget({ id: 'budget_2', businessLine: null }),
    budget({ id: 'budget_3', tenant: 'globex', amount: microUnits(250) }),
    budget({ id: 'budget_4', currency: 'EUR' }),
  ]);
  assert.deepEqual(
    [...found].map(([id, { percent, protecting }]) => [id, percent, protecting]),
    [
      ['budget_1', 50, true],
      // That was yesterday.
      ['budget_2', 50, false],
      ['budget_3', 200, false],
    ],
  );
  assert.deepEqual(asked, [
    ['acme', 2],
    ['globex', 1],
  ]);
});

test('a store that is away is told of', async () => {
  const read = createReadBudgets({
    quota: { peek: async () => Promise.reject(new StoreUnavailable('gone')) },
    state: { list: async () => [] },
    config: () => configWith(),
    clock: { time: () => NOON },
  });
  await assert.rejects(read([budget()]), StoreUnavailable);
  assert.equal((await read([])).size, 0);
});
