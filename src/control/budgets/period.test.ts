import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { periodAt } from '../../lib/calendar/calendar-period.ts';
import { periodOfCounter } from './period.ts';

test('days and months of a zone, over changes of its clocks', () => {
  for (const [time, unit, zone, id, end] of [
    ['2026-03-31T23:59:59.999Z', 'day', 'UTC', '2026-03-31', '2026-04-01T00:00:00Z'],
    ['2026-03-31T23:59:59.999Z', 'day', 'Europe/Berlin', '2026-04-01', '2026-04-01T22:00:00Z'],
    ['2026-03-29T00:00:00Z', 'day', 'Europe/Berlin', '2026-03-29', '2026-03-29T22:00:00Z'],
    ['2026-10-24T23:00:00Z', 'day', 'Europe/Berlin', '2026-10-25', '2026-10-25T23:00:00Z'],
    ['2026-02-01T00:00:00Z', 'month', 'UTC', '2026-02', '2026-03-01T00:00:00Z'],
    ['2026-12-31T20:00:00Z', 'month', 'Asia/Tokyo', '2027-01', '2027-01-31T15:00:00Z'],
  ] as const) {
    const period = periodAt(Date.parse(time), unit, zone);
    assert.deepEqual([period.id, period.end], [id, Date.parse(end)], `${time} ${zone}`);
  }
});

test('periods join, and a counter is of its own period whatever our clock says', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2035, 0) }),
      fc.constantFrom('day' as const, 'month' as const),
      fc.constantFrom('UTC', 'Europe/Berlin', 'America/St_Johns', 'Pacific/Apia', 'Asia/Kathmandu'),
      fc.integer({ min: -36_000_000, max: 36_000_000 }),
      (time, unit, zone, skew) => {
        const period = periodAt(time, unit, zone);
        assert.ok(period.end > time);
        assert.equal(periodAt(period.end - 1, unit, zone).id, period.id);
        assert.notEqual(periodAt(period.end, unit, zone).id, period.id);
        // The store says when its period ends; a clock that is hours off sees that end as many hours off.
        assert.equal(periodOfCounter(time + skew, period.end - time, unit, zone).id, period.id);
      },
    ),
    { numRuns: 100 },
  );
});
