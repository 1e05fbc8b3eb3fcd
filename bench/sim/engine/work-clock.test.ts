import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createWorkClock } from './work-clock.ts';

test('items that share a pace are done when their own work is', () => {
  const clock = createWorkClock<string>();
  clock.setPace(2);
  clock.add('long', 20);
  clock.advance(5);
  clock.add('short', 4);
  assert.equal(clock.nextAt(), 7);
  clock.advance(7);
  assert.equal(clock.take(), 'short');
  assert.equal(clock.take(), undefined);
  clock.setPace(0.5);
  assert.equal(clock.nextAt(), 7 + 6 / 0.5);
  clock.setPace(0);
  assert.equal(clock.nextAt(), Infinity);
  assert.deepEqual(clock.items(), ['long']);
});

test('a removed item is never done, and can be added anew', () => {
  const clock = createWorkClock<string>();
  clock.setPace(1);
  clock.add('a', 1);
  clock.add('b', 5);
  clock.remove('a');
  assert.equal(clock.nextAt(), 5);
  clock.add('a', 9);
  clock.advance(5);
  assert.deepEqual([clock.take(), clock.take()], ['b', undefined]);
  assert.equal(clock.nextAt(), 9);
  clock.remove('nobody');
  assert.equal(clock.size(), 1);
});

test('of two that are due at the same time the removed one is never done, whichever it is', () => {
  for (const [gone, left] of [
    ['a', 'b'],
    ['b', 'a'],
  ] as const) {
    const clock = createWorkClock<string>();
    clock.setPace(1);
    clock.add('a', 5);
    clock.add('b', 5);
    clock.remove(gone);
    clock.advance(5);
    assert.deepEqual([clock.take(), clock.take()], [left, undefined]);
  }
});

test('whatever the changes of pace, the units done are the area under it', () => {
  const step = fc.record({ ms: fc.integer({ min: 1, max: 1000 }), pace: fc.integer({ min: 0, max: 5 }) });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 30 }), fc.integer({ min: 1, max: 50_000 }), (steps, work) => {
      const clock = createWorkClock<string>();
      clock.add('it', work);
      let now = 0;
      let done = 0;
      for (const { ms, pace } of steps) {
        clock.setPace(pace);
        const expected = pace === 0 ? Infinity : now + (work - done) / pace;
        assert.ok(clock.nextAt() === expected || Math.abs(clock.nextAt() - expected) < 1e-6);
        now += ms;
        done += ms * pace;
        clock.advance(now);
        const isDone = clock.take() === 'it';
        assert.equal(isDone, done >= work);
        if (isDone) return;
      }
    }),
  );
});
