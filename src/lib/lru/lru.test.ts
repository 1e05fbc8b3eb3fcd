import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Lru } from './lru.ts';

test('drops what was used longest ago', () => {
  const lru = new Lru<string, number>(2);
  lru.set('a', 1);
  lru.set('b', 2);
  assert.equal(lru.get('a'), 1);
  lru.set('c', 3);
  assert.equal(lru.get('b'), undefined);
  assert.equal(lru.get('a'), 1);
  assert.equal(lru.get('c'), 3);
});

test('setting a known key makes no room', () => {
  const lru = new Lru<string, number>(2);
  lru.set('a', 1);
  lru.set('b', 2);
  lru.set('a', 3);
  assert.equal(lru.size, 2);
  assert.equal(lru.get('b'), 2);
  assert.equal(lru.get('a'), 3);
});

test('holds nothing when max is 0, and refuses a bad max', () => {
  const lru = new Lru<string, number>(0);
  lru.set('a', 1);
  assert.equal(lru.size, 0);
  for (const max of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) assert.throws(() => new Lru(max), RangeError);
});

test('forgets by hand', () => {
  const lru = new Lru<string, number>(3);
  lru.set('a', 1);
  lru.set('b', 2);
  assert.equal(lru.delete('a'), true);
  assert.equal(lru.delete('a'), false);
  lru.clear();
  assert.equal(lru.size, 0);
});

test('behaves as a list ordered by use', () => {
  const step = fc.record({ get: fc.boolean(), key: fc.integer({ min: 0, max: 9 }) });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), fc.array(step, { maxLength: 60 }), (max, steps) => {
      const lru = new Lru<number, number>(max);
      let model: [number, number][] = [];
      steps.forEach(({ get, key }, value) => {
        const held = model.find(([k]) => k === key);
        if (get) {
          assert.equal(lru.get(key), held?.[1]);
          if (held) model = [...model.filter((entry) => entry !== held), held];
        } else {
          lru.set(key, value);
          model = [...model.filter(([k]) => k !== key), [key, value] as [number, number]].slice(-max);
        }
        assert.equal(lru.size, model.length);
      });
    }),
    { numRuns: 200 },
  );
});
