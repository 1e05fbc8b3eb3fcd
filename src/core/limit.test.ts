import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { type LimitLine, limitName, type LimitWindow } from './limit.ts';

const windows: fc.Arbitrary<LimitWindow> = fc.oneof(
  fc.record({ kind: fc.constant('sliding' as const), seconds: fc.integer({ min: 1, max: 1_000_000 }) }),
  fc.record({ kind: fc.constant('calendar' as const), unit: fc.constantFrom('day' as const, 'month' as const) }),
);
const lines: fc.Arbitrary<LimitLine> = fc.record({
  scope: fc.string(),
  unit: fc.constantFrom('requests' as const, 'tokens' as const),
  window: windows,
  limit: fc.nat(),
});

test('limits have the names that people write', () => {
  const named = (unit: LimitLine['unit'], window: LimitWindow): string =>
    limitName({ scope: 'tenant', unit, window, limit: 1 });
  assert.equal(named('requests', { kind: 'sliding', seconds: 60 }), 'requests_per_minute');
  assert.equal(named('tokens', { kind: 'calendar', unit: 'day' }), 'tokens_per_day');
  assert.equal(named('tokens', { kind: 'calendar', unit: 'month' }), 'tokens_per_month');
  assert.equal(named('requests', { kind: 'sliding', seconds: 86_400 }), 'requests_per_86400s');
});

test('two windows have one name only if they are the same, and no name holds a scope', () => {
  fc.assert(
    fc.property(lines, lines, (a, b) => {
      const same = a.unit === b.unit && JSON.stringify(a.window) === JSON.stringify(b.window);
      assert.equal(limitName(a) === limitName(b), same);
      assert.match(limitName(a), /^(requests|tokens)_per_\w+$/);
    }),
  );
});
