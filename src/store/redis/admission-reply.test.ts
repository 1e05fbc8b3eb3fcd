import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { LimitLine } from '../../core/limit.ts';
import { readAdmission, readStates } from './admission-reply.ts';

const line: LimitLine = { scope: 'tenant', unit: 'tokens', window: { kind: 'concurrent' }, limit: 5 };

test('whatever whole numbers the store says are read as they are', () => {
  const count = fc.maxSafeNat();
  fc.assert(
    fc.property(fc.array(fc.tuple(count, count)), (states) => {
      const reply = `h${states.map(([remaining, reset]) => `|${remaining},${reset}`).join('')}`;
      const result = readAdmission(
        reply,
        states.map(() => line),
      );
      assert.equal(result.kind, 'held');
      assert.deepEqual(
        result.limits,
        states.map(([remaining, resetMs]) => ({ line, remaining, resetMs })),
      );
    }),
  );
});

test('a refusal names its line and the wait', () => {
  const result = readAdmission('d,1,1500|4,10|0,20', [line, { ...line, unit: 'requests' }]);
  assert.ok(result.kind === 'denied');
  assert.equal(result.by.line.unit, 'requests');
  assert.equal(result.retryAfterMs, 1500);
});

test('a reply that ends too early is an error', () => {
  for (const reply of ['h', 'h|1', 'h|1,', 'd,3,1|1,1', '', 'x'])
    assert.throws(() => readAdmission(reply, [line]), TypeError, reply);
  assert.throws(() => readStates('', 0, [line]), TypeError);
});
