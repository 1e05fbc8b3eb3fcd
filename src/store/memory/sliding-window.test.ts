import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { createSlidingWindow } from './sliding-window.ts';

const START = 1_800_000_000_000;

test('no trailing window ever holds more than was allowed, and the announced wait is enough', () => {
  const request = fc.record({ gap: fc.integer({ min: 0, max: 4000 }), amount: fc.integer({ min: 1, max: 60 }) });
  fc.assert(
    fc.property(
      fc.constantFrom(1, 5, 60, 700),
      fc.array(request, { minLength: 1, maxLength: 60 }),
      (seconds, requests) => {
        const window = createSlidingWindow({ seconds });
        const taken: { at: number; amount: number }[] = [];
        let now = START;
        for (const { gap, amount } of requests) {
          now += gap;
          if (window.sum(now) + amount > 100) {
            const wait = window.waitMs(now, window.sum(now) + amount - 100);
            assert.ok(window.sum(now + wait - 1) + amount > 100 || wait === 1);
            now += wait;
            assert.ok(window.sum(now) + amount <= 100, 'the wait was enough');
          }
          window.add(now, amount);
          taken.push({ at: now, amount });
          const trailing = taken.filter(({ at }) => at > now - seconds * 1000);
          assert.ok(trailing.reduce((sum, one) => sum + one.amount, 0) <= 100);
        }
        assert.equal(window.sum(now + window.resetMs(now)), 0);
      },
    ),
    { numRuns: 400 },
  );
});

test('advancing far costs one step of the window, not one of the gap', () => {
  const times = [0, 1, 2, 3, 4].map(() => {
    const window = createSlidingWindow({ seconds: 60 });
    window.add(START, 5);
    const begin = performance.now();
    assert.equal(window.sum(START + 1e12), 0);
    return performance.now() - begin;
  });
  assert.ok(Math.min(...times) < 50, times.join(' '));
});
