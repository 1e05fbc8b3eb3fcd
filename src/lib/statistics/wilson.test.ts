import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { leastDifference, wilson } from './wilson.ts';

const near = (a: number, b: number): void => assert.ok(Math.abs(a - b) < 5e-4, `${a} is not ${b}`);

test('bounds of shares as they are published', () => {
  // Newcombe 1998, Statistics in Medicine 17: 81/263, 15/148, 0/20, 1/29 at 95 %.
  const z = 1.959964;
  for (const [hits, total, low, high] of [
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ] as const) {
    const bounds = wilson(hits, total, z);
    near(bounds.low, low);
    near(bounds.high, high);
  }
  // The same author on differences, method 10: 56/70 - 48/80 and 9/10 - 3/10.
  near(leastDifference([56, 70], [48, 80], z), 0.0524);
  near(leastDifference([9, 10], [3, 10], z), 0.1705);
});

test('bounds hold the share, and more of the same narrows them', () => {
  fc.assert(
    fc.property(fc.nat(500), fc.nat(500), fc.integer({ min: 2, max: 20 }), (hits, misses, times) => {
      const total = hits + misses;
      const { low, high } = wilson(hits, total, 3);
      assert.ok(0 <= low && low <= high && high <= 1);
      if (total === 0) return;
      assert.ok(low <= hits / total + 1e-12 && hits / total <= high + 1e-12);
      const more = wilson(hits * times, total * times, 3);
      assert.ok(more.high - more.low <= high - low + 1e-12);
      assert.ok(leastDifference([hits, total], [hits, total], 3) <= 0);
    }),
  );
  assert.equal(leastDifference([1, 1], [0, 0], 3), -1);
});
