import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayAfter, dayOf, parseDay, parseZone } from './zone-day.ts';

test('a moment has the day of its zone', () => {
  const time = Date.parse('2026-12-31T12:30:00Z');
  assert.equal(dayOf(time, 'UTC'), '2026-12-31');
  assert.equal(dayOf(time, 'Pacific/Auckland'), '2027-01-01');
  assert.equal(dayOf(Date.parse('2026-12-31T00:30:00Z'), 'America/New_York'), '2026-12-30');
});

test('days are counted over months and years', () => {
  assert.equal(dayAfter('2026-12-31', 1), '2027-01-01');
  assert.equal(dayAfter('2028-03-01', -1), '2028-02-29');
});

test('days and zones that are none are refused', () => {
  assert.equal(parseDay('2028-02-29'), '2028-02-29');
  for (const odd of ['2027-02-29', '2027-13-01', '27-01-01', 'today']) assert.throws(() => parseDay(odd), odd);
  assert.equal(parseZone('Europe/Berlin'), 'Europe/Berlin');
  assert.throws(() => parseZone('Nowhere/Town'));
});
