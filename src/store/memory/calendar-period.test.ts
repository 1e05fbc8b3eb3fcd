import assert from 'node:assert/strict';
import { test } from 'node:test';
import { periodAt } from './calendar-period.ts';

test('days and months are those of UTC', () => {
  for (const [at, unit, id, end] of [
    ['2028-02-28T23:59:59.999Z', 'day', '2028-02-28', '2028-02-29T00:00:00.000Z'],
    ['2028-02-29T00:00:00.000Z', 'day', '2028-02-29', '2028-03-01T00:00:00.000Z'],
    ['2027-12-31T12:00:00.000Z', 'month', '2027-12', '2028-01-01T00:00:00.000Z'],
    ['2028-02-01T00:00:00.000Z', 'month', '2028-02', '2028-03-01T00:00:00.000Z'],
  ] as const) {
    assert.deepEqual(periodAt(Date.parse(at), unit), { id, end: Date.parse(end) });
  }
});
