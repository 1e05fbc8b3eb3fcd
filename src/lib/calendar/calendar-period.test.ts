import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { assertZone, periodAt, periodsBetween } from './calendar-period.ts';

test('days and months are those of UTC where no zone is named', () => {
  for (const [at, unit, id, start, end] of [
    ['2028-02-28T23:59:59.999Z', 'day', '2028-02-28', '2028-02-28T00:00:00.000Z', '2028-02-29T00:00:00.000Z'],
    ['2028-02-29T00:00:00.000Z', 'day', '2028-02-29', '2028-02-29T00:00:00.000Z', '2028-03-01T00:00:00.000Z'],
    ['2027-12-31T12:00:00.000Z', 'month', '2027-12', '2027-12-01T00:00:00.000Z', '2028-01-01T00:00:00.000Z'],
    ['2028-02-01T00:00:00.000Z', 'month', '2028-02', '2028-02-01T00:00:00.000Z', '2028-03-01T00:00:00.000Z'],
  ] as const) {
    assert.deepEqual(periodAt(Date.parse(at), unit), { id, start: Date.parse(start), end: Date.parse(end) });
  }
});

test('days of a zone are as long as its clocks make them', () => {
  for (const [zone, at, id, start, end] of [
    // Clocks change at two or three in the night: 23 and 25 hours.
    ['Europe/Berlin', '2027-03-28T12:00Z', '2027-03-28', '2027-03-27T23:00Z', '2027-03-28T22:00Z'],
    ['Europe/Berlin', '2027-10-31T12:00Z', '2027-10-31', '2027-10-30T22:00Z', '2027-10-31T23:00Z'],
    // Midnight is left out: the day begins at 01:00.
    ['Africa/Cairo', '2027-04-30T12:00Z', '2027-04-30', '2027-04-29T22:00Z', '2027-04-30T21:00Z'],
    ['America/Sao_Paulo', '2018-11-04T12:00Z', '2018-11-04', '2018-11-04T03:00Z', '2018-11-05T02:00Z'],
    // Half hours.
    ['Asia/Kolkata', '2027-06-15T18:29Z', '2027-06-15', '2027-06-14T18:30Z', '2027-06-15T18:30Z'],
    ['Australia/Lord_Howe', '2027-04-04T03:00Z', '2027-04-04', '2027-04-03T13:00Z', '2027-04-04T13:30Z'],
    // A day that never was: the 30th of December 2011.
    ['Pacific/Apia', '2011-12-30T09:59Z', '2011-12-29', '2011-12-29T10:00Z', '2011-12-30T10:00Z'],
    ['Pacific/Apia', '2011-12-30T10:00Z', '2011-12-31', '2011-12-30T10:00Z', '2011-12-31T10:00Z'],
  ] as const) {
    const expected = { id, start: Date.parse(start), end: Date.parse(end) };
    assert.deepEqual(periodAt(Date.parse(at), 'day', zone), expected, `${zone} ${at}`);
  }
  const march = { id: '2027-03', start: Date.parse('2027-02-28T23:00Z'), end: Date.parse('2027-03-31T22:00Z') };
  assert.deepEqual(periodAt(Date.parse('2027-03-31T21:59:59.999Z'), 'month', 'Europe/Berlin'), march);
});

test('a zone that nobody knows is refused', () => {
  assert.throws(() => assertZone('Mars/Olympus'), RangeError);
  assert.throws(() => periodAt(0, 'day', 'Mars/Olympus'), RangeError);
  assertZone('UTC');
});

test('periods join without a gap, in any zone and at any time', () => {
  const zones = ['UTC', 'Europe/Berlin', 'America/St_Johns', 'Asia/Kathmandu', 'Pacific/Apia', 'America/Havana'];
  fc.assert(
    fc.property(
      fc.integer({ min: Date.UTC(1990, 0), max: Date.UTC(2040, 0) }),
      fc.constantFrom(...zones),
      fc.constantFrom('day', 'month'),
      (now, zone, unit) => {
        const period = periodAt(now, unit, zone);
        assert.ok(period.start <= now && now < period.end);
        const next = periodAt(period.end, unit, zone);
        assert.equal(next.start, period.end);
        assert.ok(next.id > period.id);
        assert.equal(periodAt(period.start - 1, unit, zone).end, period.start);
        assert.deepEqual(periodsBetween(now, next.end, unit, zone), [period, next]);
      },
    ),
    { numRuns: 300 },
  );
});
