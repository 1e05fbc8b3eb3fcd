import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LEAST_LOADED } from '../core/score-policy.ts';
import type { Adjust } from './score.ts';
import { ids, rig, SCORED, target } from './routing-kit.test.ts';

const A = target('a');
const B = target('b');
const C = target('c');

test('a burst is spread evenly by what it has itself just done', () => {
  const made = rig();
  const targets = Array.from({ length: 8 }, (_, at) => target(`t${at}`, { capacity: 1000 }));
  for (let each = 0; each < 1000; each += 1) {
    const [first] = made.decide(targets, 0).order;
    made.begin(first!.live.target, 0);
  }
  for (const each of targets) assert.equal(made.board.of(each).running, 125);
});

test('equals take turns by chance', () => {
  const made = rig();
  const firsts = new Map<string, number>();
  for (let each = 0; each < 3000; each += 1) {
    const first = ids(made.decide([A, B, C], each)).split(' ')[0] ?? '';
    firsts.set(first, (firsts.get(first) ?? 0) + 1);
  }
  for (const count of firsts.values()) assert.ok(Math.abs(count - 1000) < 4 * Math.sqrt(3000 * (1 / 3) * (2 / 3)));
});

test('static weights share near-equals within binomial bounds', () => {
  const made = rig();
  const [one, three] = [target('one', { weight: 1 }), target('three', { weight: 3 })];
  const policy = { ...LEAST_LOADED, spread: { kind: 'near', near: 0.1 } } as const;
  let count = 0;
  for (let each = 0; each < 4000; each += 1)
    if (ids(made.decide([one, three], 0, { policy })).startsWith('three')) count += 1;
  assert.ok(Math.abs(count - 3000) < 4 * Math.sqrt(4000 * 0.75 * 0.25), String(count));
});

test('who was never asked is taken to answer like the others, not for as long as it may', () => {
  const made = rig();
  const price = (each: number) => ({ prompt: each, completion: each, currency: 'USD' });
  const dear = target('dear', { group: 'dear', price: price(300) });
  const cheap = target('cheap', { group: 'cheap', price: price(100) });
  const policy = { ...SCORED, weights: { cost: 1, latency: 0, quality: 0 }, load: 0 };
  for (let at = 0; at < 5; at += 1) made.serve(dear, at * 10_000, 200, 20, 50);
  const ask = { outputTokens: 4000 };
  const { order } = made.decide([dear, cheap], 60_000, { policy, ask });
  assert.deepEqual(
    order.map(({ live, terms, estimate }) => [live.target.id, terms.cost, Math.round(estimate.totalMs ?? 0)]),
    [
      ['cheap', 1, 1180],
      ['dear', 0, 1180],
    ],
  );
});

test('score: the cheaper, the faster, the better', () => {
  const made = rig();
  const only = (weights: Partial<typeof SCORED.weights>) => ({
    ...SCORED,
    weights: { cost: 0, latency: 0, quality: 0, ...weights },
    spread: { kind: 'near', near: 0 } as const,
  });
  const cheap = target('cheap', {
    price: { prompt: 100, completion: 100, currency: 'USD' },
    quality: 0.3,
    prior: { firstTokenMs: 500, tokenMs: 50, totalMs: null },
  });
  const dear = target('dear', {
    price: { prompt: 900, completion: 900, currency: 'USD' },
    quality: 0.9,
    prior: { firstTokenMs: 300, tokenMs: 40, totalMs: null },
  });
  const fast = target('fast', {
    price: { prompt: 500, completion: 500, currency: 'USD' },
    quality: 0.5,
    prior: { firstTokenMs: 100, tokenMs: 10, totalMs: null },
  });
  const all = [cheap, dear, fast];
  assert.equal(ids(made.decide(all, 0, { policy: only({ cost: 1 }) })), 'cheap fast dear');
  assert.equal(ids(made.decide(all, 0, { policy: only({ latency: 1 }) })), 'fast dear cheap');
  assert.equal(ids(made.decide(all, 0, { policy: only({ quality: 1 }) })), 'dear fast cheap');
  const { choice, order } = made.decide(all, 0, { policy: SCORED });
  assert.equal(choice, 'best_score');
  const { cost = -1, latency, quality } = order[0]?.terms ?? {};
  assert.ok(Math.abs(cost - 0.5) < 1e-9);
  assert.deepEqual([latency, quality], [1, 0.5]);
});

test('on a scale of its own a small difference is a small difference', () => {
  const made = rig();
  const cheap = target('cheap', { price: { prompt: 999_000, completion: 0, currency: 'USD' } });
  const dear = target('dear', { price: { prompt: 1_000_000, completion: 0, currency: 'USD' } });
  const policy = { ...SCORED, weights: { cost: 1, latency: 0, quality: 0 }, costCeiling: 1000 };
  for (const { terms } of made.decide([cheap, dear], 0, { policy }).order)
    assert.ok(Math.abs(terms.cost - 0.9) < 0.001);
  // Compared with each other they would be the best and the worst there is.
  const compared = made.decide(
    [cheap, target('double', { price: { prompt: 2e6, completion: 0, currency: 'USD' } })],
    0,
    {
      policy: { ...policy, costCeiling: null },
    },
  );
  assert.deepEqual(
    compared.order.map(({ terms }) => terms.cost),
    [1, 0],
  );
});

test('a limit of time passes over who would be too late, and says so', () => {
  const made = rig();
  const slow = target('slow', { prior: { firstTokenMs: 1000, tokenMs: 100, totalMs: null } });
  const unknown = target('unknown', { group: 'other', prior: { firstTokenMs: null, tokenMs: null, totalMs: null } });
  const plan = made.decide([slow, A, unknown], 0, { ask: { latencyLimitMs: 3000 } });
  assert.equal(made.decide([slow], 0, { ask: { latencyLimitMs: 3000 } }).choice, 'last_resort');
  assert.deepEqual(ids(plan).split(' ').toSorted(), ['a', 'unknown']);
  assert.deepEqual(
    plan.excluded.map(({ scored, why }) => [scored.live.target.id, why]),
    [['slow', 'latency_budget']],
  );
});

test('who is full comes last, who wants to rest not at all', () => {
  const made = rig();
  const small = target('small', { capacity: 1 });
  made.begin(small, 0);
  assert.equal(ids(made.decide([small, A], 0)), 'a small');
  assert.equal(made.decide([small], 0).choice, 'all_full');
  made.reporter.end(made.begin(A, 0), { kind: 'busy', retryAfterMs: 2000 }, 10);
  const plan = made.decide([A, B], 100);
  assert.equal(ids(plan), 'b');
  assert.equal(plan.excluded[0]?.why, 'cooling_down');
  assert.match(ids(made.decide([A, B], 2010)), /a/);
});

test('the first entries do not fail together', () => {
  const made = rig();
  const pairs = ['x', 'x', 'x', 'y', 'z'].map((domain, at) =>
    target(`${domain}${at}`, { domain, quality: 1 - at / 10 }),
  );
  const policy = {
    ...SCORED,
    weights: { cost: 0, latency: 0, quality: 1 },
    spread: { kind: 'near', near: 0 } as const,
  };
  assert.equal(ids(made.decide(pairs, 0, { policy })), 'x0 y3 z4 x1 x2');
});

test('an open breaker holds back; its probe comes first, and the plan stays long enough', () => {
  const made = rig();
  for (let at = 0; at < 6; at += 1) made.fail(C, at);
  const plan = made.decide([A, B, C], 100);
  assert.equal(plan.excluded[0]?.why, 'circuit_breaker_open');
  assert.equal(plan.order.at(-1)?.live.target.id, 'c');
  assert.equal(made.decide([C], 100).order.length, 0);
  const probe = made.decide([A, B, C], 10_100);
  assert.equal(probe.choice, 'probe');
  assert.equal(probe.order[0]?.live.target.id, 'c');
  made.begin(C, 10_100);
  assert.notEqual(made.decide([A, B, C], 10_200).order[0]?.live.target.id, 'c');
  // Another kind of work has a breaker of its own.
  assert.equal(made.decide([C], 100, { ask: { kind: 'embeddings' } }).order.length, 1);
});

test('while a breaker is open, probes are a share of what its target usually gets', () => {
  const made = rig();
  const four = [A, B, C, target('d')];
  for (let at = 0; at < 6; at += 1) made.fail(C, at);
  let probes = 0;
  for (let each = 0; each < 8000; each += 1) if (made.decide(four, 100).choice === 'probe') probes += 1;
  // 5 % of a quarter.
  assert.ok(probes > 60 && probes < 140, String(probes));
});

test('a rule of its own decides; one that fails or makes no sense leaves the sum as it is', () => {
  const made = rig();
  const better = target('better', { quality: 0.9 });
  const policy = { ...SCORED, weights: { cost: 0, latency: 0, quality: 1 } };
  const judged = (adjust: Adjust) => made.decide([A, better], 0, { policy, adjust });
  assert.equal(ids(judged(({ live }) => (live.target === A ? 1 : 0))), 'a better');
  for (const senseless of [null, NaN, Infinity]) assert.equal(ids(judged(() => senseless)), 'better a');
});

test('two choices and softmax: the better one more often, nobody never', () => {
  for (const spread of [{ kind: 'two_choices' }, { kind: 'softmax', temperature: 0.2 }] as const) {
    const made = rig();
    const targets = [
      target('best', { quality: 0.9 }),
      target('mid', { quality: 0.6 }),
      target('low', { quality: 0.3 }),
    ];
    const policy = { ...SCORED, weights: { cost: 0, latency: 0, quality: 1 }, spread };
    const firsts = new Map<string, number>();
    for (let each = 0; each < 2000; each += 1) {
      const first = ids(made.decide(targets, each, { policy })).split(' ')[0] ?? '';
      firsts.set(first, (firsts.get(first) ?? 0) + 1);
    }
    const [best = 0, mid = 0, low = 0] = ['best', 'mid', 'low'].map((id) => firsts.get(id));
    assert.ok(best > mid && mid > low, `${spread.kind}: ${best} ${mid} ${low}`);
    if (spread.kind === 'softmax') assert.ok(low > 0);
  }
});

test('more load, worse health, a higher price never lift a candidate', () => {
  const facts = fc.record({
    running: fc.nat(40),
    price: fc.nat(1000),
    quality: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  const change = fc.constantFrom('running', 'price', 'quality' as const);
  fc.assert(
    fc.property(fc.array(facts, { minLength: 2, maxLength: 6 }), change, fc.nat(1000), (all, what, by) => {
      const place = (worse: boolean): number => {
        const made = rig();
        const targets = all.map(({ price, quality, running }, at) => {
          const isIt = worse && at === 0;
          const one = target(`t${at}`, {
            price: { prompt: price + (isIt && what === 'price' ? by : 0), completion: 0, currency: 'USD' },
            quality: isIt && what === 'quality' ? quality * 0.5 : quality,
          });
          for (let each = 0; each < running + (isIt && what === 'running' ? by % 20 : 0); each += 1) made.begin(one, 0);
          return one;
        });
        const policy = { ...SCORED, costCeiling: 100, spread: { kind: 'near', near: 0 } as const };
        const question = { policy, tries: 0 };
        return made.decide(targets, 0, question).order.find(({ live }) => live.target.id === 't0')?.value ?? NaN;
      };
      assert.ok(place(true) <= place(false) + 1e-12);
    }),
  );
});

test('a plan holds each target once, in the plan or left out', () => {
  const events = fc.array(fc.tuple(fc.constantFrom('serve', 'fail', 'busy', 'begin'), fc.nat(5), fc.nat(2000)), {
    maxLength: 100,
  });
  fc.assert(
    fc.property(events, fc.integer(), (all, seed) => {
      const made = rig({ seed, slowMs: 500 });
      const targets = Array.from({ length: 6 }, (_, at) => target(`t${at}`, { domain: `d${at % 3}` }));
      let now = 0;
      for (const [what, which, passed] of all) {
        now += passed;
        const one = targets[which] ?? A;
        if (what === 'serve') made.serve(one, now, which * 200);
        else if (what === 'fail') made.fail(one, now);
        else if (what === 'begin') made.begin(one, now);
        else made.reporter.end(made.begin(one, now), { kind: 'busy', retryAfterMs: 1000 }, now);
        const plan = made.decide(targets, now);
        const planned = new Set(plan.order.map(({ live }) => live.target.id));
        assert.equal(planned.size, plan.order.length);
        for (const each of targets)
          assert.ok(planned.has(each.id) || plan.excluded.some(({ scored }) => scored.live.target === each), each.id);
        assert.equal(plan.choice === null, plan.order.length === 0);
      }
    }),
    { numRuns: 200 },
  );
});

test('as given: the order stands, breakers and rests do not', () => {
  const made = rig();
  const given = { rank: 'given' } as const;
  for (let busy = 0; busy < 40; busy += 1) made.begin(A, 0);
  assert.equal(ids(made.decide([A, B, C], 0, given)), 'a b c');
  made.reporter.end(made.begin(A, 0), { kind: 'busy', retryAfterMs: 1000 }, 10);
  const plan = made.decide([A, B, C], 20, given);
  assert.equal(ids(plan), 'b c');
  assert.equal(plan.insteadOf, 'cooling_down');
  assert.equal(made.decide([B, A], 20, given).insteadOf, null);
});

test('when breakers hold back everybody: they serve all the same, or nobody, by rule', () => {
  const made = rig();
  for (let at = 0; at < 6; at += 1) made.fail(A, at);
  const ask = (lastResort: 'late' | 'anybody') => made.decide([A], 100, { lastResort });
  assert.deepEqual([ask('late').order.length, ask('late').insteadOf], [0, 'circuit_breaker_open']);
  assert.deepEqual([ids(ask('anybody')), ask('anybody').choice], ['a', 'last_resort']);
  made.breakers.of(A, 'chat').adopt('hard', 100);
  assert.deepEqual([ids(ask('anybody')), ask('late').order.length], ['a', 0]);
});

test('who is ill and gets nothing is asked once in a while, where it would come first if it were well', () => {
  const made = rig();
  for (let now = 0; now < 5000; now += 100) for (const each of [A, B]) made.serve(each, now, each === B ? 4000 : 200);
  assert.equal(ids(made.decide([A, B], 34_000)), 'a b');
  const plan = made.decide([A, B], 35_000);
  assert.deepEqual([ids(plan), plan.choice], ['b a', 'probe']);
  assert.equal(ids(made.decide([A, B], 35_000, { rank: 'given' })), 'a b');
  const dear = { ...B, quality: 0 };
  assert.equal(
    ids(made.decide([A, dear], 35_000, { policy: { ...SCORED, spread: { kind: 'near', near: 0 } } })),
    'a b',
  );
  made.begin(B, 35_000);
  assert.equal(ids(made.decide([A, B], 35_100)), 'a b');
});

test('a look takes nobody’s turn', () => {
  const made = rig();
  for (let at = 0; at < 6; at += 1) made.fail(C, at);
  const firsts = (isPreview: boolean): string[] =>
    Array.from({ length: 200 }, () => ids(made.decide([A, B, C], 500, { isPreview })).split(' ')[0] ?? '');
  assert.equal(firsts(true).includes('c'), false);
  const probes = firsts(false).filter((first) => first === 'c').length;
  const again = rig();
  for (let at = 0; at < 6; at += 1) again.fail(C, at);
  const expected = Array.from({ length: 200 }, () => ids(again.decide([A, B, C], 500)).split(' ')[0]).filter(
    (first) => first === 'c',
  ).length;
  assert.equal(probes, expected);
});
