import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FeatureReader, FIGURES } from './features.ts';
import { foldsOf } from './folds.ts';
import { seededRandom } from '../hash32/seeded-random.ts';
import { kMeans } from './k-means.ts';
import { createTextClassifier, nearest, type TextModel } from './linear.ts';
import { shrunk, tabulate } from './quality-table.ts';

/** Slots and figures of a text, apart from the reader's own arrays. */
function read(text: string, reader = new FeatureReader(12)) {
  const { slots, count, value, figures } = reader.read(text);
  return { slots: [...slots.subarray(0, count)].toSorted((a, b) => a - b), value, figures: [...figures] };
}

/** A model with weights out of chance: what it says is no matter, what it costs is. */
function anyModel(bits: number, outputs: number): TextModel {
  const random = seededRandom(7);
  return {
    bits,
    biases: new Float64Array(outputs),
    weights: Float32Array.from({ length: (2 ** bits + FIGURES.length) * outputs }, () => random() - 0.5),
    classes: Array.from({ length: outputs }, (_, at) => ({
      name: `c${at}`,
      direction: Array.from({ length: outputs }, (_each, other) => (other === at ? 1 : 0)),
      bias: 0,
    })),
  };
}

test('words and their pairs are read once each, whatever their case and their spaces', () => {
  const { slots, value } = read('the cat the cat');
  // the, cat, "the cat", "cat the".
  assert.equal(slots.length, 4);
  assert.equal(value, 0.5);
  assert.deepEqual(read('The  CAT\n the cat').slots, slots);
  assert.notDeepEqual(read('the dog the dog').slots, slots);
});

test('numbers are told apart by their length, letters of scripts without gaps are words', () => {
  assert.deepEqual(read('give 123').slots, read('give 907').slots);
  assert.notDeepEqual(read('give 123').slots, read('give 12').slots);
  // Three words and two pairs.
  assert.equal(read('日本語').slots.length, 5);
});

test('the same text has the same features, whatever was read before', () => {
  const used = new FeatureReader(12);
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.string({ maxLength: 300 }), (text, other) => {
      used.read(other);
      assert.deepEqual(read(text, used), read(text));
    }),
  );
});

test('slots are in the table, each once, figures within bounds, for any text', () => {
  const reader = new FeatureReader(8);
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 12_000 }), (text) => {
      const { slots, value, figures } = read(text, reader);
      assert.equal(new Set(slots).size, slots.length);
      assert.ok(slots.every((slot) => slot >= 0 && slot < 256));
      assert.ok(Math.abs(value * value * slots.length - (slots.length === 0 ? 0 : 1)) < 1e-9);
      assert.ok(figures.every((figure) => Number.isFinite(figure) && Math.abs(figure) <= 1.5));
    }),
    { numRuns: 50 },
  );
});

test('of long texts the beginning and the end count, and nothing between', () => {
  const head = 'begin '.repeat(1024);
  const tail = ' ending'.repeat(300);
  const of = (middle: string) => read(`${head}${middle}${tail}`).slots;
  assert.deepEqual(of('x'.repeat(5000)), of('other words '.repeat(400)));
});

test('time grows with a text up to its bound and no further', () => {
  const classify = createTextClassifier(anyModel(13, 9));
  const words = Array.from({ length: 4000 }, (_, at) => `word${(at * 7919) % 2503}`).join(' ');
  const small = words.slice(0, 8192);
  const large = words.repeat(40).slice(0, 1024 * 1024);
  const best = (text: string): number => {
    let least = Infinity;
    for (let round = 0; round < 60; round += 1) {
      const before = performance.now();
      classify(text);
      least = Math.min(least, performance.now() - before);
    }
    return least;
  };
  best(small);
  const [ofSmall, ofLarge] = [best(small), best(large)];
  assert.ok(ofLarge < 4 * ofSmall + 0.2, `8 KiB ${ofSmall} ms, 1 MiB ${ofLarge} ms`);
  // 1 ms is the promise; a busy machine gets five times as much.
  assert.ok(ofSmall < 5, `${ofSmall} ms`);
});

test('of equals the first class is taken, and the margin is how far it is ahead', () => {
  const classes = anyModel(8, 3).classes;
  assert.deepEqual(nearest([1, 1, 0], classes), { at: 0, margin: 0 });
  assert.deepEqual(nearest([0, 1, 3], classes), { at: 2, margin: 2 });
  assert.equal(nearest([5], [{ name: 'only', direction: [1], bias: 0 }]).margin, Infinity);
});

test('a mean of few observations is drawn to the mean over all', () => {
  const unit = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(unit, unit, fc.nat(1000), fc.nat(1000), fc.integer({ min: 1, max: 100 }), (mean, over, n, more, k) => {
      const one = shrunk({ mean, n }, over, k);
      assert.ok(one >= Math.min(mean, over) - 1e-12 && one <= Math.max(mean, over) + 1e-12);
      // More observations never lead away from what was observed.
      assert.ok(Math.abs(shrunk({ mean, n: n + more }, over, k) - mean) <= Math.abs(one - mean) + 1e-12);
    }),
  );
  assert.equal(shrunk({ mean: 1, n: 0 }, 0.3), 0.3);
  assert.equal(shrunk({ mean: 1, n: 20 }, 0.5, 20), 0.75);
  assert.equal(shrunk({ mean: 0, n: 0 }, 0.4, 0), 0.4);
});

test('the table holds means and counts of what was observed', () => {
  const table = tabulate([
    { class: 'a', quality: new Map([['m', 1]]) },
    { class: 'a', quality: new Map([['m', 0]]) },
    {
      class: 'b',
      quality: new Map([
        ['m', 1],
        ['o', 0.5],
      ]),
    },
  ]);
  assert.deepEqual(table.get('m')?.classes.get('a'), { mean: 0.5, n: 2 });
  assert.equal(table.get('m')?.n, 3);
  assert.equal(table.get('o')?.classes.get('a'), undefined);
});

test('rows of one group lie in one fold, and folds are about the same size', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(30), { minLength: 1, maxLength: 200 }), fc.nat(1000), (groups, seed) => {
      const fold = foldsOf(groups, { folds: 5, seed });
      const of = new Map<number, number>();
      for (const [row, group] of groups.entries()) {
        assert.equal(of.get(group) ?? fold[row], fold[row]);
        of.set(group, fold[row]!);
      }
      assert.deepEqual([...foldsOf(groups, { folds: 5, seed })], [...fold]);
    }),
  );
  const alone = foldsOf(
    Array.from({ length: 102 }, (_, row) => row),
    { folds: 5, seed: 3 },
  );
  const sizes = [0, 1, 2, 3, 4].map((each) => alone.filter((fold) => fold === each).length);
  assert.deepEqual(
    sizes.toSorted((a, b) => a - b),
    [20, 20, 20, 21, 21],
  );
});

test('groups of points have their means for centres', () => {
  const points = Float64Array.from([0, 0, 0.1, 0, 5, 5, 5.1, 5]);
  const { values } = kMeans({ points, width: 2, count: 2, random: seededRandom(1) });
  const centres = [...values].map((value) => Math.round(value * 100) / 100);
  assert.deepEqual(centres[0] === 0.05 ? centres : [...centres.slice(2), ...centres.slice(0, 2)], [0.05, 0, 5.05, 5]);
  // No more groups than there are different points.
  assert.equal(kMeans({ points: new Float64Array(6), width: 2, count: 3, random: seededRandom(1) }).values.length, 2);
});
