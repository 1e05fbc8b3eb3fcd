import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Arm, ArmFigures, RolloutCriteria, RolloutFigures } from '../../core/rollout.ts';
import { seededRandom } from '../../lib/hash32/seeded-random.ts';
import { ArmCounts, figuresSince, mergeFigures } from './figures.ts';
import { judge, p95Of } from './judge.ts';

const CRITERIA: RolloutCriteria = { errorIncrease: 0.005, p95Ratio: 1.2, minSamples: 100 };
const NONE: ArmFigures = { requests: 0, errors: 0, times: [] };
const NO_FIGURES: RolloutFigures = { old: NONE, new: NONE };

interface Traffic {
  readonly errors: number;
  /** Of the median, 100 ms. */
  readonly slower?: number;
}

/** Requests with log-normal times. */
function send(
  counts: ArmCounts,
  arm: Arm,
  requests: number,
  { errors, slower = 1 }: Traffic,
  random: () => number,
): void {
  for (let n = 0; n < requests; n += 1) {
    const normal = Math.sqrt(-2 * Math.log(random() || 1e-12)) * Math.cos(2 * Math.PI * random());
    counts.add(arm, random() < errors ? null : 100 * slower * Math.exp(0.8 * normal));
  }
}

test('noise rolls nothing back: looked at each second, for ten minutes, at several rates', () => {
  for (const [seed, rate] of [1, 5, 40].flatMap((each) => [1, 2, 3, 4, 5, 6].map((n) => [n * each, each] as const))) {
    const random = seededRandom(seed);
    const counts = new ArmCounts();
    const seen = [NO_FIGURES];
    let worse = 0;
    for (let second = 0; second < 600; second += 1) {
      send(counts, 'old', 19 * rate, { errors: 0.02 }, random);
      send(counts, 'new', rate, { errors: 0.02 }, random);
      const all = counts.figures();
      seen.push(all);
      const recent = figuresSince(all, seen[Math.max(0, seen.length - 31)] ?? NO_FIGURES);
      const isWorse = [all, recent].some((figures) => judge(figures, CRITERIA).kind === 'worse');
      worse = isWorse ? worse + 1 : 0;
      assert.ok(worse < 2, `seed ${seed}, ${rate} a second: rolled back after ${second} s`);
    }
    if (rate >= 5) assert.notEqual(judge(counts.figures(), CRITERIA).kind, 'worse');
  }
});

test('what is worse is seen soon: all of it fails, a tenth fails, it is three times as slow', () => {
  const seconds = (rate: number, bad: Traffic): number => {
    const random = seededRandom(7);
    const counts = new ArmCounts();
    send(counts, 'old', 2000, { errors: 0.01 }, random);
    for (let second = 1; second < 600; second += 1) {
      send(counts, 'old', 19 * rate, { errors: 0.01 }, random);
      send(counts, 'new', rate, bad, random);
      if (judge(counts.figures(), CRITERIA).kind === 'worse') return second;
    }
    return Infinity;
  };
  assert.ok(seconds(5, { errors: 1 }) <= 3);
  assert.ok(seconds(20, { errors: 0.1 }) <= 20, String(seconds(20, { errors: 0.1 })));
  assert.ok(seconds(20, { errors: 0.01, slower: 3 }) <= 10, String(seconds(20, { errors: 0.01, slower: 3 })));
});

test('fine needs enough of both, and nothing that is perhaps worse', () => {
  const random = seededRandom(3);
  const counts = new ArmCounts();
  send(counts, 'old', 5000, { errors: 0.01 }, random);
  send(counts, 'new', 99, { errors: 0 }, random);
  assert.match(judge(counts.figures(), CRITERIA).words, /^too few requests: 99 /);
  send(counts, 'new', 900, { errors: 0.01 }, random);
  assert.equal(judge(counts.figures(), CRITERIA).kind, 'fine');
  const dubious = new ArmCounts();
  send(dubious, 'old', 1000, { errors: 0 }, random);
  for (let n = 0; n < 120; n += 1) dubious.add('new', n < 2 ? null : 50);
  assert.match(judge(dubious.figures(), CRITERIA).words, /^perhaps more errors: 1\.67 %/);
});

test('more errors never make a verdict better', () => {
  const rank = { fine: 0, unclear: 1, worse: 2 };
  fc.assert(
    fc.property(fc.nat(2000), fc.nat(500), fc.nat(500), fc.nat(50), (old, next, errors, more) => {
      const figures = (failed: number) => ({
        old: { requests: old, errors: Math.floor(old / 50), times: [] },
        new: { requests: next, errors: Math.min(next, failed), times: [] },
      });
      assert.ok(rank[judge(figures(errors + more), CRITERIA).kind] >= rank[judge(figures(errors), CRITERIA).kind]);
    }),
  );
});

test('figures of processes add up, and what came since is the rest', () => {
  const random = seededRandom(11);
  const parts = [1, 2, 3].map((n) => {
    const counts = new ArmCounts();
    send(counts, 'old', 100 * n, { errors: 0.1 }, random);
    send(counts, 'new', 10 * n, { errors: 0.1 }, random);
    return counts.figures();
  });
  const all = mergeFigures(parts);
  assert.deepEqual([all.old.requests, all.new.requests], [600, 60]);
  const [first = NO_FIGURES, ...rest] = parts;
  assert.deepEqual(figuresSince(all, first), mergeFigures(rest));
  assert.deepEqual(figuresSince(all, all), NO_FIGURES);
  assert.ok((p95Of(all.old) ?? 0) > 200);
  assert.equal(p95Of(NO_FIGURES.old), null);
});
