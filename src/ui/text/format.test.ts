import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import * as format from './format.ts';
import { shortened } from './visible.ts';
import { dayStarts, startOfDay } from './zone-days.ts';
import { startOfDay as startByLedger } from '../../lib/calendar/calendar-period.ts';

test('money for eyes: cents, more where there is little, never a crash', () => {
  assert.equal(format.money(1_234_567_890, 'USD'), '$1,234.57');
  assert.equal(format.money(0, 'USD'), '$0.00');
  assert.equal(format.money(42, 'USD'), '$0.000042');
  assert.equal(format.money(123_456, 'EUR'), '€0.1235');
  assert.equal(format.money(-5_000_000, 'USD'), '-$5.00');
  assert.equal(format.money(5_000_000, ''), '5.00');
  assert.equal(format.money(5_000_000, 'token'), '5.00 token');
  assert.equal(format.shortMoney(12_345_000_000, 'USD'), '$12.35K');
  for (const huge of [Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, Number.MAX_VALUE])
    assert.ok(format.money(huge, 'USD').length > 3);
});

test('counts, shares and durations', () => {
  assert.equal(format.shortCount(9999), '9,999');
  assert.equal(format.shortCount(12_400_000), '12.4M');
  assert.equal(format.percent(1 / 3), '33.3 %');
  assert.deepEqual([format.duration(840), format.duration(2449)], ['840 ms', '2.4 s']);
  assert.deepEqual([4000, 90 * 60_000, 30 * 3_600_000, 3 * 86_400_000, -5].map(format.span), [
    '4 s',
    '90 min',
    '30 h',
    '3 days',
    '0 s',
  ]);
});

test('times are of the zone, and a zone that is not known is UTC', () => {
  const at = Date.parse('2026-11-30T23:30:05Z');
  assert.equal(format.dateTime(at, 'Europe/Berlin'), '1 Dec 2026, 00:30');
  assert.equal(format.isoDay(at, 'Europe/Berlin'), '2026-12-01');
  assert.equal(format.isoDay(at, 'No/Where'), '2026-11-30');
  assert.equal(format.clockTime(at, 'UTC'), '23:30:05');
  assert.equal(format.dayAfter('2028-02-28', 2), '2028-03-01');
});

test('days begin when the ledger says they do, also where clocks change', () => {
  const day = fc.date({
    min: new Date('2015-01-01T00:00:00Z'),
    max: new Date('2035-01-01T00:00:00Z'),
    noInvalidDate: true,
  });
  const zone = fc.constantFrom(
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'Asia/Kathmandu',
    'Pacific/Kiritimati',
    'Pacific/Pago_Pago',
    'America/Santiago',
    'Asia/Beirut',
  );
  fc.assert(
    fc.property(day, zone, (date, name) => {
      const text = date.toISOString().slice(0, 10);
      assert.equal(startOfDay(text, name), startByLedger(text, name), `${text} ${name}`);
    }),
  );
  assert.deepEqual(
    dayStarts('2026-10-24', '2026-10-27', 'Europe/Berlin').map((at) => new Date(at).toISOString()),
    ['2026-10-23T22:00:00.000Z', '2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z'],
  );
});

test('long names lose their middle', () => {
  assert.equal(shortened('short', 10), 'short');
  assert.equal(shortened('llama-3.1-70b-instruct', 12), 'llama-3…ruct');
  assert.equal(Array.from(shortened('\u{1f600}'.repeat(50), 12)).length, 12);
});
