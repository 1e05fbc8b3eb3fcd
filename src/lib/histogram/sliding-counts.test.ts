import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SlidingCounts } from './sliding-counts.ts';

const OPTIONS = { size: 2, windowMs: 60_000, slots: 12 };
const SLOT = 5000;

test('what is older than the window is not in it, and nothing else is missing', () => {
  const step = fc.record({
    wait: fc.integer({ min: 0, max: 40_000 }),
    index: fc.nat({ max: 1 }),
    amount: fc.nat({ max: 9 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 0, max: 90_000 }), (steps, rest) => {
      const counts = new SlidingCounts(OPTIONS);
      const added: { at: number; index: number; amount: number }[] = [];
      let now = 0;
      for (const { wait, index, amount } of steps) {
        now += wait;
        counts.add(index, amount, now);
        added.push({ at: now, index, amount });
      }
      now += rest;
      const first = (Math.floor(now / SLOT) - 11) * SLOT;
      const expected = [0, 0];
      for (const { at, index, amount } of added) if (at >= first) expected[index]! += amount;
      assert.deepEqual([...counts.sums(now)], expected);
    }),
  );
});

test('a window that nothing was added to is empty', () => {
  assert.deepEqual([...new SlidingCounts(OPTIONS).sums(1e9)], [0, 0]);
});
