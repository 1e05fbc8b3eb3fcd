import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DecayedLine } from './decayed-line.ts';
import { DecayedMean } from './decayed-mean.ts';
import { DecayedRatio } from './decayed-ratio.ts';
import { SecondCounts } from './second-counts.ts';

const near = (actual: number | null, expected: number, by = 1e-6): void => {
  assert.ok(actual !== null && Math.abs(actual - expected) <= by * Math.max(1, Math.abs(expected)), `${actual}`);
};

test('a mean forgets by age, not by count', () => {
  const mean = new DecayedMean(1000);
  assert.equal(mean.value, null);
  mean.add(10, 0);
  assert.equal(mean.value, 10);
  mean.add(20, 1000);
  near(mean.value, (10 * Math.exp(-1) + 20) / (Math.exp(-1) + 1));
  near(mean.weight(2000), (Math.exp(-1) + 1) * Math.exp(-1));
  // What is little known lies near the prior, and ever nearer.
  near(mean.shrunk(0, 1, 1e9), 0);
  near(mean.shrunk(0, 0, 1000), mean.value ?? 0);
});

test('a mean after a very long pause is the new sample, and a clock that goes back does no harm', () => {
  const mean = new DecayedMean(1);
  mean.add(5, 0);
  mean.add(7, 1e6);
  assert.equal(mean.value, 7);
  mean.add(9, 10);
  near(mean.value, 8);
});

test('a line finds slope and intercept, and never falls', () => {
  const line = new DecayedLine(60_000);
  assert.equal(line.at(100), null);
  line.add(100, 50, 0);
  assert.equal(line.at(10_000), 50);
  for (let at = 1; at <= 50; at += 1) line.add(at * 100, 20 + at * 10, at);
  near(line.at(2500), 270, 0.05);
  const falling = new DecayedLine(60_000);
  for (let x = 1; x < 10; x += 1) falling.add(x, 100 - x, x);
  near(falling.at(1), falling.at(9) ?? 0);
});

test('a line stays within what it saw and is never below 0', () => {
  const samples = fc.array(fc.tuple(fc.nat(100_000), fc.nat(100_000)), { minLength: 1, maxLength: 50 });
  fc.assert(
    fc.property(samples, fc.nat(100_000), (all, x) => {
      const line = new DecayedLine(1000);
      for (const [at, [size, ms]] of all.entries()) line.add(size, ms, at);
      const expected = line.at(x);
      assert.ok(expected !== null && Number.isFinite(expected) && expected >= -1e-6, String(expected));
    }),
  );
});

test('counts by second are those of a plain list', () => {
  const steps = fc.array(fc.record({ passed: fc.nat(4000), kind: fc.nat(2) }), { maxLength: 200 });
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 12 }), (all, seconds) => {
      const counts = new SecondCounts(12, 3);
      const list: { readonly kind: number; readonly second: number }[] = [];
      let now = 0;
      for (const { passed, kind } of all) {
        now += passed;
        counts.add(kind, now);
        list.push({ kind, second: Math.floor(now / 1000) });
        const newest = Math.floor(now / 1000);
        for (const each of [0, 1, 2]) {
          const expected = list.filter((one) => one.kind === each && one.second > newest - seconds).length;
          assert.equal(counts.sum(each, seconds, now), expected);
        }
      }
      counts.clear();
      assert.equal(counts.sum(0, seconds, now), 0);
    }),
  );
});

test('a ratio of sums: what is small says little, what is old less', () => {
  const ratio = new DecayedRatio(1000);
  assert.equal(ratio.value, null);
  ratio.add(10, 100, 0);
  ratio.add(1, 1, 0);
  assert.equal(ratio.value, 11 / 101);
  ratio.add(200, 100, 1000);
  assert.ok(Math.abs((ratio.value ?? 0) - (11 / Math.E + 200) / (101 / Math.E + 100)) < 1e-12);
  assert.ok(Math.abs(ratio.weight(2000) - (101 / Math.E + 100) / Math.E) < 1e-12);
});
