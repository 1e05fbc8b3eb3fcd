import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maxOverMean, percentile, sharesOf } from './figures.ts';

test('percentiles are of the nearest rank', () => {
  const values = [5, 1, 4, 2, 3];
  assert.deepEqual(
    [0, 0.2, 0.21, 0.5, 0.99, 1].map((part) => percentile(values, part)),
    [1, 1, 2, 3, 5, 5],
  );
  assert.ok(Number.isNaN(percentile([], 0.5)));
});

test('shares count first picks between seconds', () => {
  const pick = (at: number, host: number, number = 1) => ({ at, host, number });
  const picks = [pick(0, 0), pick(500, 1), pick(600, 1, 2), pick(1000, 0), pick(3999, 0), pick(4000, 1)];
  const shares = sharesOf(picks, 0);
  assert.deepEqual(
    [shares.between(0, 1), shares.between(0, 2), shares.between(2, 4), shares.between(4, 5), shares.between(0, 99)],
    [1 / 2, 2 / 3, 1, 0, 3 / 5],
  );
  assert.ok(Number.isNaN(shares.between(2, 3)));
});

test('the largest over the mean', () => {
  assert.equal(maxOverMean([1, 2, 3]), 1.5);
  assert.equal(maxOverMean([8, 0, 0, 0]), 4);
});
