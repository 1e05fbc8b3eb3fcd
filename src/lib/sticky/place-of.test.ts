import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { drawsOf, placeOf } from './place-of.ts';

test('a name has one place, and a greater share holds all of a smaller one', () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (name, a, b) => {
        const place = placeOf(name);
        assert.ok(place >= 0 && place < 1);
        assert.equal(placeOf(name), place);
        if (place < Math.min(a, b)) assert.ok(place < Math.max(a, b));
      },
    ),
  );
});

test('shares are what they say, within binomial bounds, for names that are alike', () => {
  const names = Array.from({ length: 20_000 }, (_, at) => `session-${at}`);
  for (const share of [0.01, 0.05, 0.3, 0.8]) {
    const count = names.filter((name) => placeOf(name) < share).length;
    const bound = 5 * Math.sqrt(names.length * share * (1 - share));
    assert.ok(Math.abs(count - names.length * share) <= bound, `${share}: ${count}`);
  }
});

test('draws of a name are the same each time, and even over names', () => {
  assert.deepEqual([1, 2, 3].map(drawsOf('x')), [1, 2, 3].map(drawsOf('x')));
  const firsts = Array.from({ length: 20_000 }, (_, at) => drawsOf(`t${at}`)());
  for (const share of [0.05, 0.5, 0.95]) {
    const count = firsts.filter((value) => value < share).length;
    assert.ok(Math.abs(count - 20_000 * share) <= 5 * Math.sqrt(20_000 * share * (1 - share)), `${share}: ${count}`);
  }
});
