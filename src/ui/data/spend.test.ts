import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import * as spend from './spend.ts';
import type { SpendRow } from './wire.ts';

const HOUR = 3_600_000;
const row = (change: Partial<SpendRow> = {}): SpendRow => ({
  at: new Date(0).toISOString(),
  keys: { model: 'm' },
  currency: 'USD',
  requests: 1,
  prompt_tokens: 10,
  cached_tokens: 4,
  completion_tokens: 5,
  cost_micros: 100,
  ...change,
});

test('groups are dearest first, and what is left goes together', () => {
  const rows = [
    row(),
    row({ keys: { model: 'n' }, cost_micros: 300 }),
    row({ keys: {} }),
    row({ keys: { model: 'm' } }),
  ];
  const groups = spend.groupBy(rows, 'model');
  assert.deepEqual(
    groups.map(({ name, cost, requests }) => [name, cost, requests]),
    [
      ['n', 300, 1],
      ['m', 200, 2],
      ['none', 100, 1],
    ],
  );
  assert.deepEqual(
    spend.capped(groups, 2).map(({ name, cost }) => [name, cost]),
    [
      ['n', 300],
      ['2 others', 300],
    ],
  );
  assert.equal(spend.capped(groups, 3), groups);
  assert.deepEqual(spend.groupBy([], 'model'), []);
});

test('nothing is lost between rows, groups and columns', () => {
  const rows = fc.array(
    fc
      .record({
        at: fc.nat(47).map((hour) => new Date(hour * HOUR).toISOString()),
        keys: fc.record({ model: fc.string({ maxLength: 3 }) }),
        cost_micros: fc.nat(1e9),
      })
      .map(row),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(rows, fc.integer({ min: 1, max: 7 }), (all, most) => {
      const { cost } = spend.totalOf(all);
      const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
      assert.equal(sum(spend.capped(spend.groupBy(all, 'model'), most).map((group) => group.cost)), cost);
      const { series, columns } = spend.stack(all, 'model', { starts: [0, 24 * HOUR], most });
      assert.ok(series.length <= most);
      assert.equal(sum(columns.flatMap(({ values }) => values)), cost);
      assert.deepEqual(
        columns.map(({ at }) => at),
        [0, 24 * HOUR],
        'each row belongs to the last start before it',
      );
      assert.ok(columns.every(({ values }) => values.length === series.length));
      assert.equal(spend.running(all, { from: 0, step: HOUR }).at(-1)?.spent, cost);
    }),
  );
});

test('currencies are kept apart, the most used first', () => {
  const rows = [row({ currency: 'EUR' }), row({ requests: 5 }), row({ currency: 'EUR', requests: 2 })];
  assert.deepEqual(spend.currenciesOf(rows), ['USD', 'EUR']);
  assert.equal(spend.ofCurrency(rows, 'EUR').length, 2);
});

test('what the gateway bears counts for no budget, nor does another line or currency', () => {
  const budget = { business_line: 'ads', currency: 'USD' };
  const keys = { charged_to: 'tenant', business_line: 'ads' };
  assert.equal(spend.budgetSpend(row({ keys }), budget), true);
  assert.equal(
    spend.budgetSpend(row({ keys: { ...keys, business_line: 'x' } }), { ...budget, business_line: null }),
    true,
  );
  for (const other of [
    { keys: { ...keys, charged_to: 'gateway' } },
    { keys: { ...keys, business_line: 'x' } },
    { keys, currency: 'EUR' },
  ])
    assert.equal(spend.budgetSpend(row(other), budget), false);
});
