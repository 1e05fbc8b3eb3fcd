import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { estimateCost } from '../../src/core/estimate-cost.ts';
import {
  costOf,
  type MicroUnits,
  microUnits,
  type Price,
  priceAt,
  type PriceTier,
  type Rates,
} from '../../src/core/money.ts';
import type { Usage } from '../../src/core/usage.ts';

const rate = fc.integer({ min: 0, max: 90_000_000 }).map((value) => microUnits(value));
const rates: fc.Arbitrary<Rates> = fc.record(
  {
    promptPerMtok: rate,
    cachedPerMtok: rate,
    completionPerMtok: rate,
    cacheWritePerMtok: rate,
    cacheWriteLongPerMtok: rate,
    audioPromptPerMtok: rate,
    imagePromptPerMtok: rate,
    reasoningPerMtok: rate,
    audioCompletionPerMtok: rate,
    imageCompletionPerMtok: rate,
  },
  { requiredKeys: ['promptPerMtok', 'cachedPerMtok', 'completionPerMtok'] },
);

const pricesOf = (most: number): fc.Arbitrary<Price> => {
  const tier: fc.Arbitrary<PriceTier> = fc
    .tuple(rates, fc.integer({ min: 1, max: most }))
    .map(([held, tokens]) => ({ ...held, tokens }));
  const above = fc
    .uniqueArray(tier, { minLength: 1, maxLength: 3, selector: ({ tokens }) => tokens })
    .map((tiers) => tiers.toSorted((a, b) => a.tokens - b.tokens));
  const tiers = fc.option(fc.record({ mode: fc.constantFrom('excess' as const, 'whole' as const), above }), {
    nil: undefined,
  });
  return fc
    .tuple(rates, tiers)
    .map(([held, some]) => ({ currency: 'USD', ...held, ...(some === undefined ? {} : { tiers: some }) }));
};

const usagesOf = (most: number): fc.Arbitrary<Usage> => {
  const count = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: most }));
  return fc.record(
    {
      prompt: count,
      cached: count,
      completion: count,
      reasoning: count,
      source: fc.constant('upstream' as const),
      cacheWrite: count,
      cacheWriteLong: count,
      audioPrompt: count,
      imagePrompt: count,
      audioCompletion: count,
      imageCompletion: count,
    },
    { requiredKeys: ['prompt', 'cached', 'completion', 'reasoning', 'source'] },
  );
};

/** Lays the tokens out one by one and looks each one's price up. */
function tokenByToken(usage: Usage, price: Price): bigint {
  const tiers = price.tiers?.above ?? [];
  const at = (position: number): Rates => tiers.findLast((tier) => position > tier.tokens) ?? price;
  const write = usage.cacheWrite ?? 0;
  const long = Math.min(usage.cacheWriteLong ?? 0, write);
  const text = (held: Rates) => held.promptPerMtok;
  const kinds: ((held: Rates) => number)[] = [
    ...Array<(held: Rates) => number>(usage.cached).fill((held) => held.cachedPerMtok),
    ...Array<(held: Rates) => number>(write - long).fill((held) => held.cacheWritePerMtok ?? text(held)),
    ...Array<(held: Rates) => number>(long).fill(
      (held) => held.cacheWriteLongPerMtok ?? held.cacheWritePerMtok ?? text(held),
    ),
    ...Array<(held: Rates) => number>(usage.audioPrompt ?? 0).fill((held) => held.audioPromptPerMtok ?? text(held)),
    ...Array<(held: Rates) => number>(usage.imagePrompt ?? 0).fill((held) => held.imagePromptPerMtok ?? text(held)),
  ];
  const answers: ((held: Rates) => number)[] = [
    ...Array<(held: Rates) => number>(usage.audioCompletion ?? 0).fill(
      (held) => held.audioCompletionPerMtok ?? held.completionPerMtok,
    ),
    ...Array<(held: Rates) => number>(usage.imageCompletion ?? 0).fill(
      (held) => held.imageCompletionPerMtok ?? held.completionPerMtok,
    ),
    ...Array<(held: Rates) => number>(usage.reasoning).fill((held) => held.reasoningPerMtok ?? held.completionPerMtok),
  ];
  const whole = at(usage.prompt);
  let sum = 0n;
  for (let position = 1; position <= usage.prompt; position += 1) {
    const held = price.tiers?.mode === 'excess' ? at(position) : whole;
    sum += BigInt((kinds[position - 1] ?? text)(held));
  }
  for (let position = 1; position <= usage.completion; position += 1)
    sum += BigInt((answers[position - 1] ?? ((held: Rates) => held.completionPerMtok))(whole));
  return sum;
}

function roundedHalfUp(exact: bigint): number {
  if (exact === 0n) return 0;
  return Math.max(1, Number((exact + 500_000n) / 1_000_000n));
}

test('a cost is what its tokens cost one by one, for every kind, tier and mode', () => {
  fc.assert(
    fc.property(usagesOf(60), pricesOf(80), (usage, price) => {
      assert.equal(costOf(usage, price), roundedHalfUp(tokenByToken(usage, price)));
    }),
    { numRuns: 2000 },
  );
});

test('any counts and prices give a whole amount that a double holds, and what has a price is never free', () => {
  fc.assert(
    fc.property(usagesOf(Number.MAX_SAFE_INTEGER), pricesOf(2 ** 40), (usage, price) => {
      const cost = costOf(usage, price);
      assert.ok(Number.isSafeInteger(cost) && cost >= 0, String(cost));
      const least = Math.min(...Object.values(price).filter((value) => typeof value === 'number'));
      if (price.tiers === undefined && usage.prompt + usage.completion > 0 && least > 0) assert.ok(cost > 0);
    }),
    { numRuns: 1000 },
  );
});

test('an estimate is never below a cost that the request can reach', () => {
  fc.assert(
    fc.property(
      fc.array(pricesOf(80), { minLength: 1, maxLength: 3 }),
      fc.nat(60),
      fc.nat(60),
      usagesOf(60),
      (prices, prompt, output, shape) => {
        const usage = {
          ...shape,
          prompt: Math.min(prompt, shape.prompt),
          completion: Math.min(output, shape.completion),
        };
        const reserved = estimateCost(
          prices.map((price) => ({ price })),
          prompt,
          output,
        );
        for (const price of prices)
          assert.ok(costOf(usage, price) <= reserved, JSON.stringify({ usage, price, reserved }));
      },
    ),
    { numRuns: 2000 },
  );
});

test('an estimate is no more than the dearest of its requests', () => {
  fc.assert(
    fc.property(pricesOf(40), fc.nat(30), fc.nat(30), (price, prompt, output) => {
      const kinds: Partial<Usage>[] = [{}, { cached: 99 }, { cacheWrite: 99 }, { cacheWrite: 99, cacheWriteLong: 99 }];
      kinds.push({ audioPrompt: 99 }, { imagePrompt: 99 });
      const answers: Partial<Usage>[] = [{}, { audioCompletion: 99 }, { imageCompletion: 99 }, { reasoning: 99 }];
      let dearest = 0;
      for (let length = 0; length <= prompt; length += 1)
        for (const kind of kinds)
          for (const answer of answers) {
            const usage = { prompt: length, cached: 0, completion: output, reasoning: 0, source: 'upstream' as const };
            dearest = Math.max(dearest, costOf({ ...usage, ...kind, ...answer }, price));
          }
      const reserved = estimateCost([{ price }], prompt, output);
      // Of mixed kinds the bands of `excess` may each be at their dearest: then no request of one kind gets there.
      if (price.tiers?.mode === 'excess') assert.ok(reserved >= dearest);
      else assert.equal(reserved, dearest);
    }),
    { numRuns: 200 },
  );
});

test('the version of a price is the last one that holds at the time', () => {
  const version = fc.record({ validFrom: fc.nat(100), rate });
  fc.assert(
    fc.property(
      fc.uniqueArray(version, { maxLength: 5, selector: ({ validFrom }) => validFrom }),
      fc.integer({ min: -5, max: 110 }),
      (versions, time) => {
        const flat = (value: MicroUnits): Rates => ({
          promptPerMtok: value,
          cachedPerMtok: value,
          completionPerMtok: value,
        });
        const later = versions
          .toSorted((a, b) => a.validFrom - b.validFrom)
          .map(({ validFrom, rate: value }) => ({ currency: 'USD', ...flat(value), validFrom }));
        const price: Price = { currency: 'USD', ...flat(microUnits(7)), later };
        const expected = later.findLast(({ validFrom }) => validFrom <= time)?.promptPerMtok ?? 7;
        assert.equal(priceAt(price, time).promptPerMtok, expected);
        const usage = { prompt: 3_000_000, cached: 0, completion: 0, reasoning: 0, source: 'upstream' as const };
        assert.equal(costOf(usage, price, time), expected * 3);
        assert.equal(estimateCost([{ price }], 3_000_000, 0, { time }), expected * 3);
      },
    ),
  );
});
