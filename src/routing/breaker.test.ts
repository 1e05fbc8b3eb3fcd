import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DEFAULT_BREAKER } from '../core/breaker-policy.ts';
import { Breaker } from './breaker.ts';
import { randomOf } from './routing-kit.test.ts';
import { wilsonLower } from './wilson.ts';

/** Sends `perSecond` requests a second of which a share fails, as long as it stays closed; when it opened, or null. */
function openedAfter({
  rate,
  perSecond,
  seconds,
  seed,
  before = 0,
}: {
  readonly rate: number;
  readonly perSecond: number;
  readonly seconds: number;
  readonly seed: number;
  readonly before?: number;
}): number | null {
  const breaker = new Breaker(() => DEFAULT_BREAKER);
  const random = randomOf(seed);
  const step = 1000 / perSecond;
  for (let now = -before * 1000; now < seconds * 1000; now += step) {
    const fails = now >= 0 && random() < rate;
    breaker.note(fails ? 'error' : 'good', 1e6 + now);
    if (breaker.state(1e6 + now) !== 'closed') return now;
  }
  return null;
}

test('8 % errors for ten minutes hardly ever open it, whatever the rate of requests', () => {
  for (const perSecond of [1, 5, 10, 50]) {
    let opened = 0;
    for (let seed = 1; seed <= 50; seed += 1)
      if (openedAfter({ rate: 0.08, perSecond, seconds: 600, seed }) !== null) opened += 1;
    // About 1 of 50 is what is to be expected at most; 6 would be chance once in a thousand runs.
    assert.ok(opened < 6, `${opened} of 50 at ${perSecond} a second`);
  }
});

test('after a minute of peace a burst of errors opens it within seconds', () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const half = openedAfter({ rate: 0.5, perSecond: 10, seconds: 30, seed, before: 60 });
    assert.ok(half !== null && half <= 6000, `half: ${half}`);
    const all = openedAfter({ rate: 1, perSecond: 10, seconds: 30, seed, before: 60 });
    assert.ok(all !== null && all <= 1500, `all: ${all}`);
    const some = openedAfter({ rate: 0.25, perSecond: 10, seconds: 60, seed, before: 60 });
    assert.ok(some !== null && some <= 40_000, `a quarter: ${some}`);
  }
});

test('one error on an idle target opens nothing', () => {
  const breaker = new Breaker(() => DEFAULT_BREAKER);
  for (let minute = 0; minute < 60; minute += 1) {
    breaker.note('error', minute * 60_000);
    breaker.note('good', minute * 60_000 + 1);
  }
  assert.equal(breaker.state(3_600_000), 'closed');
});

test('a P95 above the limit is more than a twentieth of slow answers', () => {
  const breaker = new Breaker(() => DEFAULT_BREAKER);
  for (let at = 0; at < 300; at += 1) breaker.note(at % 25 === 0 ? 'slow' : 'good', at * 100);
  assert.equal(breaker.state(30_000), 'closed');
  for (let at = 0; at < 300; at += 1) breaker.note(at % 6 === 0 ? 'slow' : 'good', 30_000 + at * 100);
  assert.notEqual(breaker.state(60_000), 'closed');
});

test('soft: probes each 10 s at least, then steps, then closed within 30 s of good answers', () => {
  const seen: string[] = [];
  const breaker = new Breaker(
    () => DEFAULT_BREAKER,
    (state, reason) => seen.push(`${state}: ${reason}`),
  );
  for (let at = 0; at < 6; at += 1) breaker.note('error', at);
  assert.equal(breaker.state(5), 'soft');
  assert.equal(breaker.share(5), 0.05);
  assert.equal(breaker.probeIsDue(10_004), false);
  let now = 10_005;
  for (let probe = 0; probe < 3; probe += 1) {
    assert.ok(breaker.probeIsDue(now), `probe ${probe}`);
    breaker.picked(now);
    assert.equal(breaker.probeIsDue(now + 500), false);
    breaker.note('good', now + 100);
    now += 1100;
  }
  const recovering = now - 1000;
  assert.equal(breaker.state(recovering), 'recovering');
  const shares = [0, 4000, 8000, 12_000].map((after) => breaker.share(recovering + after));
  assert.deepEqual(shares, [0.05, 0.25, 0.5, 1]);
  assert.deepEqual(seen, [
    'soft: 6 errors one after another',
    'recovering: probes went well',
    'closed: it answers again',
  ]);
  assert.ok(recovering + 12_000 - 5 <= 30_000);
});

test('a probe that fails begins again; one that fails on the way back, too', () => {
  const breaker = new Breaker(() => DEFAULT_BREAKER);
  for (let at = 0; at < 6; at += 1) breaker.note('error', at);
  breaker.note('good', 10_000);
  breaker.note('good', 11_000);
  breaker.note('error', 12_000);
  breaker.note('good', 13_000);
  assert.equal(breaker.state(13_000), 'soft');
  breaker.note('good', 14_000);
  breaker.note('good', 15_000);
  assert.equal(breaker.state(15_000), 'recovering');
  breaker.note('error', 15_100);
  breaker.note('error', 15_200);
  assert.equal(breaker.state(15_200), 'soft');
});

test('hard: nothing for a minute, then probes', () => {
  const breaker = new Breaker(() => ({
    ...DEFAULT_BREAKER,
    soft: { ...DEFAULT_BREAKER.soft, inARow: 100, minimum: 1000 },
  }));
  for (let at = 0; at < 20; at += 1) breaker.note(at % 3 === 0 ? 'good' : 'error', at * 10);
  assert.equal(breaker.state(200), 'hard');
  assert.equal(breaker.share(60_000), 0);
  assert.equal(breaker.probeIsDue(60_000), false);
  assert.equal(breaker.state(60_300), 'soft');
  assert.equal(breaker.probeIsDue(70_300), true);
});

test('another replica opens it, and does not hold it open', () => {
  const breaker = new Breaker(() => DEFAULT_BREAKER);
  breaker.adopt('soft', 0);
  assert.equal(breaker.state(0), 'soft');
  breaker.adopt('soft', 5);
  breaker.adopt('hard', 10);
  assert.equal(breaker.state(10), 'hard');
  breaker.adopt('soft', 20);
  assert.equal(breaker.state(20), 'hard');
});

test('whatever happens, it lets a probe through within its rest and 10 s', () => {
  const signs = fc.array(fc.tuple(fc.constantFrom('good', 'slow', 'error'), fc.nat(3000)), { maxLength: 200 });
  fc.assert(
    fc.property(signs, (all) => {
      const breaker = new Breaker(() => DEFAULT_BREAKER);
      let now = 0;
      for (const [sign, passed] of all) {
        now += passed;
        breaker.note(sign, now);
        const share = breaker.share(now);
        assert.ok(share >= 0 && share <= 1);
      }
      assert.ok(breaker.share(now + 71_000) === 1 || breaker.probeIsDue(now + 71_000));
    }),
  );
});

test("Wilson's lower bound", () => {
  assert.equal(wilsonLower(0, 0, 1.96), 0);
  assert.equal(wilsonLower(0, 50, 1.96), 0);
  // Newcombe 1998, table I: 15 of 148 has the interval 0.0624..0.1605.
  assert.ok(Math.abs(wilsonLower(15, 148, 1.96) - 0.0624) < 1e-4);
});

test('a share is every so many-th, and where nothing is answered probes do not pile up', () => {
  const breaker = new Breaker(() => DEFAULT_BREAKER);
  breaker.adopt('soft', 0);
  const turns = Array.from({ length: 200 }, (_, at) => {
    const takes = breaker.takesTurn(at);
    if (takes) breaker.picked(at);
    return takes;
  });
  assert.deepEqual(
    turns.flatMap((takes, at) => (takes ? [at] : [])),
    [19, 39, 59],
  );
  breaker.note('error', 200);
  assert.equal(Array.from({ length: 20 }, (_, at) => breaker.takesTurn(201 + at)).filter(Boolean).length, 1);
});
