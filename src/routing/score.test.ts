import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ScorePolicy } from '../core/score-policy.ts';
import { rig, SCORED, target } from './routing-kit.test.ts';
import { type Looked, score } from './score.ts';

test('times that differ by their noise are alike, and a little more is little', () => {
  const terms = (...totals: readonly number[]): readonly number[] => {
    const targets = totals.map((totalMs, at) =>
      target(`t${at}`, { group: `g${at}`, prior: { firstTokenMs: null, tokenMs: null, totalMs } }),
    );
    const policy = { ...SCORED, weights: { cost: 0, latency: 1, quality: 0 } };
    const { order } = rig().decide(targets, 0, { policy });
    return targets.map(({ id }) => order.find(({ target: each }) => each.id === id)?.terms.latency ?? NaN);
  };
  assert.deepEqual(terms(1000, 1050, 1090), [0.5, 0.5, 0.5]);
  const [fast = 0, slower = 0] = terms(1000, 1155);
  assert.ok(fast > slower && fast - slower < 0.25, `${fast} ${slower}`);
  assert.deepEqual(terms(1000, 2000), [1, 0]);
});

/** A candidate of which only what scores look at is known. */
interface Seen {
  readonly cost: number;
  /** Milliseconds; null = not known. */
  readonly totalMs: number | null;
  readonly quality: number;
  readonly load: number;
}

const lookedOf = ({ cost, totalMs, quality, load }: Seen, at: number): Looked => ({
  target: target(`t${at}`, { quality }),
  live: null as never,
  estimate: { totalMs, firstTokenMs: null },
  cost,
  health: 1,
  running: 0,
  load,
  warm: null,
});

const unit = fc.double({ min: 0, max: 1, noNaN: true });
const seen: fc.Arbitrary<Seen> = fc.record({
  cost: fc.double({ min: 1, max: 1000, noNaN: true }),
  totalMs: fc.option(fc.double({ min: 50, max: 60_000, noNaN: true }), { freq: 8 }),
  quality: unit,
  load: unit,
});
const policies: fc.Arbitrary<ScorePolicy> = fc.record({
  weights: fc.record({ cost: unit, latency: unit, quality: unit }),
  load: unit,
  costCeiling: fc.option(fc.double({ min: 1, max: 2000, noNaN: true })),
  latencyMs: fc.option(fc.double({ min: 50, max: 60_000, noNaN: true })),
  spread: fc.constant({ kind: 'near', near: 0 } as const),
});

/** The same candidate, better in one respect by a factor of at most 1. */
const BETTER: Readonly<Record<string, (one: Seen, by: number) => Seen>> = {
  cost: (one, by) => ({ ...one, cost: one.cost * Math.max(0.01, by) }),
  latency: (one, by) => ({ ...one, totalMs: one.totalMs === null ? null : one.totalMs * Math.max(0.01, by) }),
  quality: (one, by) => ({ ...one, quality: 1 - (1 - one.quality) * by }),
  load: (one, by) => ({ ...one, load: one.load * by }),
};

for (const [respect, better] of Object.entries(BETTER))
  test(`${respect}: who gets better in it loses no ground to anybody`, () => {
    fc.assert(
      fc.property(
        fc.array(seen, { minLength: 2, maxLength: 6 }),
        policies,
        fc.nat(),
        unit,
        (all, policy, which, by) => {
          const at = which % all.length;
          const valuesOf = (those: readonly Seen[]): readonly number[] =>
            score(those.map(lookedOf), policy).map(({ value }) => value);
          const before = valuesOf(all);
          const after = valuesOf(all.map((one, place) => (place === at ? better(one, by) : one)));
          for (const other of all.keys()) {
            const [was, is] = [before[at]! - before[other]!, after[at]! - after[other]!];
            assert.ok(is >= was - 1e-9, `${respect}: ahead of ${other} by ${was}, then by ${is}`);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

test('terms are within 0 and 1, whoever the candidates are', () => {
  fc.assert(
    fc.property(fc.array(seen, { minLength: 1, maxLength: 6 }), policies, (all, policy) => {
      for (const { terms, utility } of score(all.map(lookedOf), policy)) {
        for (const term of Object.values(terms)) assert.ok(term >= -1e-9 && term <= 1 + 1e-9, String(term));
        assert.ok(utility >= 0 && utility <= 1.001 + 1e-9);
      }
    }),
  );
});

const SPREADS: readonly ScorePolicy['spread'][] = [
  { kind: 'near', near: 0 },
  { kind: 'near', near: 0.05 },
  { kind: 'two_choices' },
  { kind: 'softmax', temperature: 0.1 },
];
const RUNS = 1500;

/** How often each of the targets is first. */
function firstsOf(weights: readonly number[], spread: ScorePolicy['spread'], seed: number): readonly number[] {
  const made = rig({ seed });
  const targets = weights.map((weight, at) => target(`t${at}`, { weight }));
  const counts = targets.map(() => 0);
  for (let run = 0; run < RUNS; run += 1) {
    const [first] = made.decide(targets, 0, { policy: { ...SCORED, spread } }).order;
    const at = targets.findIndex(({ id }) => id === first?.target.id);
    counts[at] = (counts[at] ?? 0) + 1;
  }
  return counts;
}

/** Within seven standard deviations of its share: by chance, none of a million runs fails. */
const isNear = (count: number, share: number): boolean =>
  Math.abs(count - RUNS * share) <= 7 * Math.sqrt(RUNS * share * (1 - share)) + 1;

for (const spread of SPREADS)
  test(`${JSON.stringify(spread)}: nobody starves among equals`, () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 7 }), fc.nat(100_000), (count, seed) => {
        for (const firsts of firstsOf(
          Array.from({ length: count }, () => 1),
          spread,
          seed,
        ))
          assert.ok(isNear(firsts, 1 / count), `${firsts} of ${RUNS} among ${count}`);
      }),
      { numRuns: 10 },
    );
  });

for (const spread of SPREADS.filter((each) => each.kind === 'softmax' || (each.kind === 'near' && each.near > 0)))
  test(`${JSON.stringify(spread)}: weights share equals within binomial bounds`, () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 2, maxLength: 5 }),
        fc.nat(100_000),
        (weights, seed) => {
          const sum = weights.reduce((total, weight) => total + weight, 0);
          for (const [at, firsts] of firstsOf(weights, spread, seed).entries())
            assert.ok(isNear(firsts, weights[at]! / sum), `${firsts} of ${RUNS}, weights ${weights.join(' ')}`);
        },
      ),
      { numRuns: 10 },
    );
  });
