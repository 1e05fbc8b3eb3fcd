import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createHeap } from './heap.ts';

test('a heap gives items by key, equals in the order in which they came', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 9 })), (keys) => {
      const heap = createHeap<readonly [number, number]>();
      for (const [order, key] of keys.entries()) heap.push(key, [key, order]);
      const popped = keys.map(() => heap.pop());
      const sorted = keys.map((key, order): readonly [number, number] => [key, order]).toSorted((a, b) => a[0] - b[0]);
      assert.deepEqual(popped, sorted);
      assert.equal(heap.pop(), undefined);
      assert.equal(heap.peekKey(), Infinity);
    }),
  );
});
