import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { addSparse, bucketOf, BUCKETS, quantileOf, sparseOf, valueOf } from './log-histogram.ts';

const ERROR = 0.02;
const values = () => fc.array(fc.double({ min: 0.1, max: 3_600_000, noNaN: true }), { minLength: 1, maxLength: 300 });

function histogramOf(all: readonly number[]): Float64Array {
  const counts = new Float64Array(BUCKETS);
  for (const value of all) counts[bucketOf(value)]! += 1;
  return counts;
}

test('a value is at most 2 % from what its bucket stands for', () => {
  fc.assert(
    fc.property(fc.double({ min: 0.1, max: 3_600_000, noNaN: true }), (value) => {
      const shown = valueOf(bucketOf(value));
      assert.ok(Math.abs(shown - value) <= value * ERROR + 1e-9, `${value} shown as ${shown}`);
    }),
    { numRuns: 2000 },
  );
});

test('a quantile is at most 2 % from that of the values themselves', () => {
  fc.assert(
    fc.property(values(), fc.double({ min: 0, max: 1, noNaN: true }), (all, share) => {
      const sorted = all.toSorted((a, b) => a - b);
      const exact = sorted[Math.max(1, Math.ceil(share * sorted.length)) - 1]!;
      const shown = quantileOf(histogramOf(all), share)!;
      assert.ok(Math.abs(shown - exact) <= exact * ERROR + 1e-9, `${exact} shown as ${shown}`);
    }),
    { numRuns: 500 },
  );
});

test('histograms of parts, added up, are the histogram of the whole', () => {
  fc.assert(
    fc.property(fc.array(values(), { minLength: 1, maxLength: 5 }), (parts) => {
      const merged = new Float64Array(BUCKETS);
      for (const part of parts) addSparse(merged, JSON.parse(JSON.stringify(sparseOf(histogramOf(part)))) as number[]);
      assert.deepEqual(merged, histogramOf(parts.flat()));
    }),
    { numRuns: 100 },
  );
});

test('what is out of range, or no number, is counted all the same', () => {
  for (const value of [0, -5, Number.NaN, 0.05]) assert.equal(bucketOf(value), 0, String(value));
  for (const value of [4e6, 1e300, Infinity]) assert.equal(bucketOf(value), BUCKETS - 1, String(value));
});

test('an empty histogram has no quantiles; buckets of another layout are passed over', () => {
  const counts = new Float64Array(BUCKETS);
  assert.equal(quantileOf(counts, 0.5), null);
  addSparse(counts, [BUCKETS, 5, -1, 5, 3]);
  assert.deepEqual(sparseOf(counts), []);
});
