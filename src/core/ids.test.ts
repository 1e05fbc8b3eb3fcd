import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { newRequestId, operationOf, parseRequestId } from './ids.ts';

test('an id names its worker and reads back', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 999 }), (worker) => {
      const id = newRequestId(worker);
      assert.deepEqual(parseRequestId(id), { id, worker });
      assert.equal(operationOf(id), id);
    }),
  );
});

test('ids do not repeat', () => {
  const ids = new Set(Array.from({ length: 5000 }, () => newRequestId(0)));
  assert.equal(ids.size, 5000);
});

test('what we did not make is no id', () => {
  const good = newRequestId(3);
  const odd = [undefined, '', '3', `${good}\n`, ` ${good}`, good.toUpperCase().replace('3-', 'A-'), `-${good}`];
  for (const text of [...odd, `1000${good.slice(1)}`, good.slice(0, -1), `${good}0`, `3-${'g'.repeat(24)}`]) {
    assert.equal(parseRequestId(text), null, JSON.stringify(text));
  }
  fc.assert(
    fc.property(fc.string(), (text) => {
      assert.equal(parseRequestId(text) !== null, /^\d{1,3}-[0-9a-f]{24}$/.test(text));
    }),
  );
});
