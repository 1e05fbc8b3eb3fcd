import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { seededRandom } from '../../lib/hash32/seeded-random.ts';
import { nearShare } from './route-kit.test.ts';
import { weightedOrder } from './weighted-order.ts';

const RUNS = 4000;
type Item = readonly [name: number, weight: number];
const weightOf = (item: Item): number => item[1];

test('the first is drawn by its share', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 1, maxLength: 5 }),
      fc.integer(),
      (weights, seed) => {
        const items = weights.map((weight, name): Item => [name, weight]);
        const random = seededRandom(seed);
        const firsts = weights.map(() => 0);
        for (let run = 0; run < RUNS; run += 1) {
          const name = weightedOrder(items, weightOf, random)[0]?.[0] ?? 0;
          firsts[name] = (firsts[name] ?? 0) + 1;
        }
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        firsts.forEach((count, name) =>
          assert.ok(nearShare(count, RUNS, (weights[name] ?? 0) / total), `${count} of ${RUNS}`),
        );
      },
    ),
    { numRuns: 40, seed: 7 },
  );
});

test('the second is drawn by its share of what is left', () => {
  const items: readonly Item[] = [
    [0, 60],
    [1, 30],
    [2, 10],
  ];
  const random = seededRandom(3);
  let first = 0;
  let second = 0;
  for (let run = 0; run < RUNS; run += 1) {
    const order = weightedOrder(items, weightOf, random).map(([name]) => name);
    if (order[0] !== 0) continue;
    first += 1;
    if (order[1] === 1) second += 1;
  }
  assert.ok(nearShare(second, first, 0.75), `${second} of ${first}`);
});

test('nothing is lost, nothing comes twice, and weight 0 comes last, as written', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 12 }), fc.integer(), (weights, seed) => {
      const items = weights.map((weight, name): Item => [name, weight]);
      const ordered = weightedOrder(items, weightOf, seededRandom(seed));
      assert.deepEqual(new Set(ordered), new Set(items));
      assert.equal(ordered.length, items.length);
      const zeros = items.filter((item) => item[1] === 0);
      assert.deepEqual(ordered.slice(items.length - zeros.length), zeros);
    }),
    { numRuns: 300 },
  );
});

test('numbers at the ends of the dice stay within the list', () => {
  const items: readonly Item[] = [
    [0, 0.1],
    [1, 0.2],
    [2, 0.3],
  ];
  for (const point of [0, 0.5, 1 - Number.EPSILON / 2]) {
    assert.equal(weightedOrder(items, weightOf, () => point).length, 3);
  }
  assert.equal(weightedOrder(items, weightOf, () => 0)[0]?.[0], 0);
  assert.equal(weightedOrder(items, weightOf, () => 1 - Number.EPSILON / 2)[0]?.[0], 2);
});
