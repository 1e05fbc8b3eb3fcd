import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { pricePerMtok, type Price } from '../../core/money.ts';
import { relativeTier } from './cost-tiers.ts';

const price = (out: number, currency = 'USD'): Price => ({
  currency,
  promptPerMtok: pricePerMtok(0),
  cachedPerMtok: pricePerMtok(0),
  completionPerMtok: pricePerMtok(out),
});
const tiers = (...prices: number[]): string =>
  prices
    .map((each) =>
      relativeTier(
        price(each),
        prices.map((other) => price(other)),
        0,
      ).slice(0, 1),
    )
    .join('');

test('thirds of the distinct prices', () => {
  assert.equal(tiers(5), 'e');
  assert.equal(tiers(5, 5, 5), 'eee');
  assert.equal(tiers(1, 5), 'ec');
  assert.equal(tiers(1, 5, 9), 'esc');
  assert.equal(tiers(9, 1, 5, 1), 'cese');
  assert.equal(tiers(1, 2, 3, 4), 'eesc');
  assert.equal(tiers(1, 2, 3, 4, 5, 6), 'eesscc');
});

test('the prices of the day are compared', () => {
  const falling = { ...price(9), later: [{ ...price(1), validFrom: 5 }] };
  const all = [falling, price(2), price(3)];
  assert.deepEqual([relativeTier(falling, all, 4), relativeTier(falling, all, 5)], ['core', 'economy']);
});

test('prices of another currency do not count', () => {
  assert.equal(relativeTier(price(5), [price(5), price(1, 'EUR'), price(9, 'EUR')], 0), 'economy');
});

test('a dearer price is never of a cheaper class, and somebody is economy', () => {
  const rank = { economy: 0, standard: 1, core: 2 };
  fc.assert(
    fc.property(fc.array(fc.nat(20), { minLength: 1, maxLength: 12 }), (outs) => {
      const all = outs.map((out) => price(out));
      const ranks = outs.toSorted((a, b) => a - b).map((out) => rank[relativeTier(price(out), all, 0)]);
      assert.deepEqual(
        ranks,
        ranks.toSorted((a, b) => a - b),
      );
      assert.equal(ranks[0], 0);
    }),
    { numRuns: 200 },
  );
});
