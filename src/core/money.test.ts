import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { estimateCost } from './estimate-cost.ts';
import { costOf, formatMicroUnits, type MicroUnits, microUnits, type Price, pricePerMtok } from './money.ts';
import type { Usage } from './usage.ts';

const count = fc.oneof(fc.integer({ min: 0, max: 2 ** 31 }), fc.integer({ min: 0, max: 200_000 }));
const perMtok = fc.oneof(
  fc.integer({ min: 0, max: 1_000_000_000 }),
  fc.integer({ min: 0, max: 2_000_000 }),
) as fc.Arbitrary<MicroUnits>;
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

test('tiers begin above their border, for the excess or for the whole (USE-11)', () => {
  const base = { ...price(3_000_000, 3_000_000, 15_000_000), currency: 'USD' };
  const above = [{ tokens: 200_000, ...price(6_000_000, 6_000_000, 22_500_000) }];
  const excess: Price = { ...base, tiers: { mode: 'excess', above } };
  const whole: Price = { ...base, tiers: { mode: 'whole', above } };
  const cost = (tariff: Price, prompt: number, completion = 0) => costOf(used({ prompt, completion }), tariff);
  assert.equal(cost(excess, 300_000), 1_200_000);
  assert.equal(cost(whole, 300_000), 1_800_000);
  assert.equal(cost(whole, 200_000), 600_000);
  assert.equal(cost(excess, 200_000), 600_000);
  assert.equal(cost(whole, 200_001), 1_200_006);
  assert.equal(cost(excess, 200_001), 600_006);
  // The answer costs what the tier of the prompt says, in both modes.
  assert.equal(cost(excess, 200_000, 1000), 615_000);
  assert.equal(cost(excess, 200_001, 1000), 622_506);
  assert.equal(cost(whole, 200_001, 1000), 1_222_506);
});

test('each kind of token has its price, and without one that of its whole', () => {
  const tariff: Price = {
    ...price(1_000_000, 100_000, 2_000_000),
    cacheWritePerMtok: microUnits(1_250_000),
    cacheWriteLongPerMtok: microUnits(2_000_000),
    audioPromptPerMtok: microUnits(40_000_000),
    imageCompletionPerMtok: microUnits(30_000_000),
  };
  const usage = used({
    prompt: 1000,
    cached: 100,
    cacheWrite: 300,
    cacheWriteLong: 100,
    audioPrompt: 10,
    imagePrompt: 50,
    completion: 500,
    imageCompletion: 20,
    reasoning: 400,
  });
  assert.equal(costOf(usage, tariff), 10 + 200 * 1.25 + 200 + 400 + 50 + 540 + 600 + 960);
  assert.equal(
    costOf(usage, { ...tariff, reasoningPerMtok: microUnits(0) }),
    10 + 250 + 200 + 400 + 50 + 540 + 600 + 160,
  );
});

test('an estimate takes the dearest deployment at the dearest kind and tier within reach', () => {
  const cheap = { price: price(1_000_000, 0, 1_000_000) };
  const tiered: Price = {
    ...price(1_000_000, 500_000, 2_000_000),
    reasoningPerMtok: microUnits(3_000_000),
    audioPromptPerMtok: microUnits(50_000_000),
    tiers: { mode: 'whole', above: [{ tokens: 1000, ...price(4_000_000, 500_000, 8_000_000) }] },
  };
  const text = { audio: false, image: false };
  assert.equal(estimateCost([], 10, 10), 0);
  assert.equal(estimateCost([cheap, { price: tiered }], 1000, 10, text), 1030);
  assert.equal(estimateCost([{ price: tiered }, cheap], 1001, 10, text), 4084);
  assert.equal(estimateCost([{ price: tiered }], 1000, 10), 50_030);
  for (const odd of [Number.NaN, Infinity]) assert.ok(estimateCost([cheap], odd, 0) > 1_000_000_000_000_000 / 1e6);
  assert.equal(estimateCost([cheap], -1, -0.5), 0);
});
