import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { SurgeLevel, SurgePolicy } from '../../core/surge.ts';
import { type HeldLevels, NO_LEVEL, nextLevel } from './next-level.ts';

const level = (above: number): SurgeLevel => ({ above, largestN: 1, divert: null, bufferStreams: false });
const POLICY: SurgePolicy = {
  levels: [level(8000), level(10_000), level(12_000)],
  leaveBelow: 0.85,
  leaveAfterMs: 10_000,
  exemptTiers: new Set(),
};

/** The level after each look; looks are 250 ms apart. */
function run(rates: readonly number[], policy = POLICY): number[] {
  let held: HeldLevels = NO_LEVEL;
  return rates.map((rate, at) => (held = nextLevel(held, { rate, now: at * 250 }, policy)).length);
}

/** So many looks at one rate. */
const looks = (rate: number, seconds: number): number[] => Array.from({ length: seconds * 4 }, () => rate);

/** Rates that stay for a while, with the thresholds among them. */
const rates = fc
  .array(
    fc.record({
      rate: fc.oneof(
        fc.integer({ min: 0, max: 14_000 }),
        fc.constantFrom(6799, 6800, 8000, 8001, 8500, 10_200, 12_000),
      ),
      seconds: fc.integer({ min: 1, max: 14 }),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((parts) => parts.flatMap(({ rate, seconds }) => looks(rate, seconds)));

test('entered above the threshold, not at it, and through several at once', () => {
  assert.deepEqual(run([7999, 8000, 8001, 13_000]), [0, 0, 1, 3]);
});

test('left after ten seconds below 85 %, each level by its own threshold', () => {
  assert.equal(run([8001, ...looks(6800, 60)]).at(-1), 1, '85 % is not below 85 %');
  const left = run([8001, ...looks(6799, 12)]);
  assert.equal(left.indexOf(0) * 250, 10_250, 'ten seconds after the first low look');
  assert.equal(run([13_000, ...looks(8400, 12)]).at(-1), 1, 'out of 3 and 2, and still in 1');
  const interrupted = [8001, ...looks(6000, 9), 7000, ...looks(6000, 9), 7000, ...looks(6000, 9)];
  assert.equal(run(interrupted).at(-1), 1, 'the ten seconds begin anew');
});

test('around the thresholds a level changes at most twice in ten seconds', () => {
  fc.assert(
    fc.property(rates, (given) => {
      const levels = run(given);
      for (const at of [1, 2, 3]) {
        const changes = levels.flatMap((now, look) =>
          now >= at !== (levels[look - 1] ?? 0) >= at ? [{ look, up: now >= at }] : [],
        );
        changes.forEach(({ look, up }, index) => {
          const before = changes[index - 1];
          if (!up && before !== undefined) assert.ok((look - before.look) * 250 >= 10_000, `left level ${at} too soon`);
        });
      }
    }),
  );
});

test('a higher rate never gives a lower level', () => {
  fc.assert(
    fc.property(rates, fc.array(fc.nat(3000)), (given, more) => {
      const higher = given.map((rate, at) => rate + (more[at % Math.max(1, more.length)] ?? 0));
      const [low, high] = [run(given), run(higher)];
      low.forEach((one, at) => assert.ok(one <= (high[at] ?? 0), `look ${at}`));
    }),
  );
});

test('a level holds exactly while its rate was not low for ten seconds', () => {
  fc.assert(
    fc.property(rates, (given) => {
      const levels = run(given);
      for (const [index, { above }] of POLICY.levels.entries()) {
        let isIn = false;
        let low = 0;
        given.forEach((rate, at) => {
          low = rate < above * 0.85 ? low + 1 : 0;
          if (rate > above) isIn = true;
          // The first low look begins the time.
          else if (low > 40) isIn = false;
          assert.equal((levels[at] ?? 0) > index, isIn, `level ${index + 1} at look ${at}`);
        });
      }
    }),
  );
});

test('fewer levels than are held: what is left goes on', () => {
  const held = nextLevel(NO_LEVEL, { rate: 20_000, now: 0 }, POLICY);
  assert.equal(held.length, 3);
  assert.equal(nextLevel(held, { rate: 7500, now: 1 }, { ...POLICY, levels: [level(8000)] }).length, 1);
});
