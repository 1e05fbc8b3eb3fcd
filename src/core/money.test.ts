import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { costOf, formatMicroUnits, type MicroUnits, microUnits, type Price, pricePerMtok } from './money.ts';
import type { Usage } from './usage.ts';

const count = fc.integer({ min: 0, max: 2 ** 31 });
const perMtok = fc.integer({ min: 0, max: 1_000_000_000 }) as fc.Arbitrary<MicroUnits>;
const usages: fc.Arbitrary<Usage> = fc.record({
  prompt: count,
  cached: count,
  completion: count,
  reasoning: count,
  source: fc.constantFrom('upstream' as const, 'estimate' as const),
});
const prices: fc.Arbitrary<Price> = fc.record({
  currency: fc.constant('USD'),
  promptPerMtok: perMtok,
  cachedPerMtok: perMtok,
  completionPerMtok: perMtok,
});

const used = (over: Partial<Usage>): Usage => ({
  prompt: 0,
  cached: 0,
  completion: 0,
  reasoning: 0,
  source: 'upstream',
  ...over,
});
const price = (prompt: number, cached = 0, completion = 0): Price => ({
  currency: 'USD',
  promptPerMtok: microUnits(prompt),
  cachedPerMtok: microUnits(cached),
  completionPerMtok: microUnits(completion),
});

test('a cost is the exact one rounded half up, as fractions of whole numbers say', () => {
  fc.assert(
    fc.property(usages, prices, (usage, tariff) => {
      const cached = BigInt(Math.min(usage.cached, usage.prompt));
      const exact =
        (BigInt(usage.prompt) - cached) * BigInt(tariff.promptPerMtok) +
        cached * BigInt(tariff.cachedPerMtok) +
        BigInt(usage.completion) * BigInt(tariff.completionPerMtok);
      const cost = costOf(usage, tariff);
      assert.ok(Number.isSafeInteger(cost) && cost >= 0);
      const doubled = 2n * exact - 2n * BigInt(cost) * 1_000_000n;
      const within = doubled >= -1_000_000n && doubled < 1_000_000n;
      assert.ok(within || (cost === 1 && exact > 0n && exact < 500_000n), `${exact} gave ${cost}`);
      assert.equal(cost === 0, exact === 0n, 'what has a price is never free');
    }),
    { numRuns: 1000 },
  );
});

test('a cost grows with each kind of token', () => {
  fc.assert(
    fc.property(usages, prices, fc.integer({ min: 1, max: 1_000_000 }), (usage, tariff, more) => {
      const base = costOf(usage, tariff);
      assert.ok(costOf({ ...usage, completion: usage.completion + more }, tariff) >= base);
      assert.equal(costOf({ ...usage, reasoning: usage.reasoning + more }, tariff), base, 'reasoning is in completion');
    }),
  );
});

test('halves go up, and one token of a cheap model costs one micro-unit', () => {
  assert.equal(costOf(used({ prompt: 1 }), price(500_000)), 1);
  assert.equal(costOf(used({ prompt: 3 }), price(500_000)), 2);
  assert.equal(costOf(used({ prompt: 1 }), price(1_499_999)), 1);
  assert.equal(costOf(used({ prompt: 1 }), price(1_500_000)), 2);
  assert.equal(costOf(used({ prompt: 1 }), price(1)), 1);
  assert.equal(costOf(used({ prompt: 1_000_000 }), price(50_000)), 50_000);
  assert.equal(costOf(used({ completion: 7 }), price(1, 1, 0)), 0);
});

test('cached tokens are charged at their own price, and never more of them than the prompt has', () => {
  assert.equal(costOf(used({ prompt: 10, cached: 4 }), price(1_000_000, 500_000)), 8);
  assert.equal(costOf(used({ prompt: 10, cached: 99 }), price(1_000_000, 500_000)), 5);
});

test('the largest usage that an upstream can tell still has a cost', () => {
  const most = used({ prompt: Number.MAX_SAFE_INTEGER, completion: 0 });
  const cost = costOf(most, price(15_000_000));
  assert.ok(Number.isSafeInteger(cost) && cost > 0);
});

test('a price is six decimals of a currency unit', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000_000_000 }), (micro) => {
      assert.equal(pricePerMtok(micro / 1_000_000), micro);
    }),
  );
  assert.equal(pricePerMtok(0.05), 50_000);
  assert.equal(pricePerMtok(0.000_000_5), 1);
  assert.equal(pricePerMtok(0.000_000_4), 0);
});

test('what is no price and no whole amount is refused', () => {
  for (const odd of [Number.NaN, Infinity, -Infinity, -1, -0.000_001, 1e300]) {
    assert.throws(() => pricePerMtok(odd), RangeError, String(odd));
  }
  for (const odd of [Number.NaN, Infinity, 0.5, 2 ** 53]) assert.throws(() => microUnits(odd), RangeError, String(odd));
});

test('amounts print with six decimals and read back as they were', () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), (amount) => {
      const text = formatMicroUnits(microUnits(amount));
      assert.match(text, /^-?\d+\.\d{6}$/);
      assert.equal(BigInt(text.replace('.', '')), BigInt(amount));
    }),
  );
  assert.equal(formatMicroUnits(microUnits(0)), '0.000000');
  assert.equal(formatMicroUnits(microUnits(-1)), '-0.000001');
  assert.equal(formatMicroUnits(microUnits(1_234_567)), '1.234567');
});
