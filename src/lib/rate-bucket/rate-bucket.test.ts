import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { RateBucket } from './rate-bucket.ts';

test('it begins full up, gives its burst after its time, and then its rate', () => {
  const bucket = new RateBucket({ rate: 100, burst: 50 }, 0);
  assert.equal(bucket.tryTake(10, 0), false);
  assert.equal(bucket.waitMs(10, 0), 100);
  assert.equal(bucket.tryTake(10, 100), true);
  assert.equal(bucket.tryTake(50, 600), true);
  assert.equal(bucket.tryTake(1, 600), false);
  assert.equal(bucket.waitMs(1, 600), 10);
  assert.equal(bucket.tryTake(1, 610), true);
});

test('what costs more than the burst passes when nothing stands there, and is a debt then', () => {
  const bucket = new RateBucket({ rate: 100, burst: 50 }, 0);
  assert.equal(bucket.waitMs(200, 0), 500);
  assert.equal(bucket.tryTake(200, 499), false);
  assert.equal(bucket.tryTake(200, 500), true);
  assert.equal(bucket.waitMs(1, 500), 1510);
  assert.equal(bucket.tryTake(1, 2009), false);
  assert.equal(bucket.tryTake(1, 2010), true);
});

test('what was used in the end takes the place of what was said', () => {
  const bucket = new RateBucket({ rate: 100, burst: 100 }, 0);
  assert.equal(bucket.tryTake(100, 1000), true);
  bucket.correct(-90, 1000);
  assert.equal(bucket.tryTake(90, 1000), true);
  bucket.correct(100, 1000);
  assert.equal(bucket.waitMs(100, 1000), 2000);
  bucket.correct(-1e9, 1000);
  assert.equal(bucket.tryTake(101, 1000), true, 'no more than the burst is free');
  assert.equal(bucket.tryTake(1, 1000), false);
});

test('without a rate nothing passes, and nothing drains', () => {
  const bucket = new RateBucket({ rate: 0, burst: 0 }, 0);
  assert.equal(bucket.tryTake(1, 1e9), false);
  assert.equal(bucket.waitMs(1, 1e9), Infinity);
  bucket.change({ rate: 10, burst: 10 }, 1e9);
  assert.equal(bucket.tryTake(1, 1e9), false, 'the time before does not count');
  assert.equal(bucket.tryTake(1, 1e9 + 100), true);
});

const take = fc.record({ do: fc.constant('take' as const), amount: fc.integer({ min: 1, max: 120 }) });
const pass = fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 900 }) });
const correct = fc.record({ do: fc.constant('correct' as const), amount: fc.integer({ min: -100, max: 100 }) });
const change = fc.record({
  do: fc.constant('change' as const),
  rate: fc.integer({ min: 0, max: 200 }),
  burstSeconds: fc.constantFrom(0.05, 0.5, 1),
});
type Move =
  | { readonly do: 'take' | 'correct'; readonly amount: number }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'change'; readonly rate: number; readonly burstSeconds: number };

/** Plays a script; gives at each step what time allowed so far and what was taken, and the largest burst and amount. */
function play(script: readonly Move[]) {
  let now = 0;
  let bounds = { rate: 100, burst: 50 };
  let [burst, amount, allowed, taken] = [bounds.burst, 0, 0, 0];
  const bucket = new RateBucket(bounds, now);
  const seen: { allowed: number; taken: number }[] = [{ allowed, taken }];
  const wait = (ms: number): void => {
    now += ms;
    allowed += (bounds.rate * ms) / 1000;
  };
  /** What was taken and may still be given back. */
  let open = 0;
  for (const move of script) {
    if (move.do === 'pass') wait(move.ms);
    else if (move.do === 'change') {
      bounds = { rate: move.rate, burst: move.rate * move.burstSeconds };
      burst = Math.max(burst, bounds.burst);
      bucket.change(bounds, now);
    } else if (move.do === 'correct') {
      const by = Math.max(move.amount, -open);
      bucket.correct(by, now);
      // A debt that the bucket was told of is nothing that it let through.
      if (by < 0) [taken, open] = [taken + by, open + by];
    } else {
      const waitMs = bucket.waitMs(move.amount, now);
      const isTaken = bucket.tryTake(move.amount, now);
      assert.equal(isTaken, waitMs === 0);
      if (isTaken) {
        [taken, open] = [taken + move.amount, open + move.amount];
        amount = Math.max(amount, move.amount);
      } else if (Number.isFinite(waitMs)) {
        wait(waitMs);
        assert.ok(bucket.waitMs(move.amount, now) <= 1e-6, 'then there is room');
      }
    }
    seen.push({ allowed, taken });
  }
  return { seen, burst, amount };
}

function holds({ seen }: ReturnType<typeof play>, most: number): void {
  for (const [at, from] of seen.entries())
    for (const until of seen.slice(at))
      assert.ok(until.taken - from.taken <= until.allowed - from.allowed + most + 1e-6);
}

test('whatever is asked for: over no span more than rate × time + burst', () => {
  const moves = fc.array(fc.oneof({ weight: 3, arbitrary: take }, { weight: 2, arbitrary: pass }), {
    maxLength: 50,
    size: 'max',
  });
  fc.assert(
    fc.property(moves, (script) => {
      const played = play(script);
      holds(played, Math.max(played.burst, played.amount));
    }),
    { numRuns: 10_000 },
  );
});

test('nor when rates change and amounts are corrected', () => {
  const moves = fc.array(
    fc.oneof(
      { weight: 6, arbitrary: take },
      { weight: 3, arbitrary: pass },
      { weight: 1, arbitrary: correct },
      { weight: 1, arbitrary: change },
    ),
    { maxLength: 50, size: 'max' },
  );
  fc.assert(
    fc.property(moves, (script) => {
      const played = play(script);
      holds(played, played.burst + played.amount);
    }),
    { numRuns: 10_000 },
  );
});
