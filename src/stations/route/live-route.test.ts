/** The station by what is known now: health, load, scores, breakers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../core/error.ts';
import { NobodyLeft } from '../../core/nobody-left.ts';
import { microUnits } from '../../core/money.ts';
import type { Snapshot } from '../../core/snapshot.ts';
import type { RouteScore } from '../../core/score-policy.ts';
import { createEngine } from '../../routing/engine.ts';
import { type Ask, bench, candidate, config, context, deployment, model, route } from './route-kit.test.ts';
import { incarnationOf, targetOf } from './targets.ts';
import { warmthOf } from './warmth.ts';

const SCORE: RouteScore = {
  weights: { cost: 1, latency: 0, quality: 1 },
  load: 0.2,
  costCeiling: null,
  latencyMs: null,
  spread: { kind: 'near', near: 0 },
  expression: null,
  rules: [],
};

function priced(name: string, amount: number, quality: number) {
  const price = microUnits(amount);
  const made = deployment(name, 'b', {
    price: { currency: 'USD', promptPerMtok: price, cachedPerMtok: price, completionPerMtok: price },
  });
  return model(name, 'b', { deployments: [{ ...made, profile: { ...made.profile, quality } }] });
}

function rig(snapshot: Snapshot, engine = createEngine({ random: () => 0.5 })) {
  const made = bench({ engine, random: () => 0 });
  let count = 0;
  const decide = (ask: Ask = {}) => {
    count += 1;
    const ctx = { ...context(snapshot, ask), id: `r${count}`, deadline: 1e9, time: 0 } as ReturnType<typeof context>;
    const step = made.station.run?.(ctx);
    assert.ok(step !== undefined && 'adds' in step);
    return step.adds.decision;
  };
  const targetFor = (name: string, backend: string) => {
    const found = snapshot.models.get(name)?.deployments.find((each) => each.backend.name === backend);
    assert.ok(found);
    return targetOf({ deployment: found }, 1, 1, 0);
  };
  const work = { promptTokens: 10, outputTokens: 10, kind: 'chat', stream: false };
  return {
    ...made,
    engine,
    decide,
    fail(name: string, backend: string, times = 6, now = 0) {
      for (let each = 0; each < times; each += 1)
        engine.tries.end(
          engine.tries.begin(`f${each}`, targetFor(name, backend), work, now, 1e9),
          { kind: 'failed' },
          now + 1,
        );
    },
    busy(name: string, backend: string, retryAfterMs: number) {
      engine.tries.end(
        engine.tries.begin('b', targetFor(name, backend), work, 0, 1e9),
        { kind: 'busy', retryAfterMs },
        0,
      );
    },
  };
}

const order = ({ candidates }: ReturnType<ReturnType<typeof rig>['decide']>): string =>
  candidates.map(({ deployment: { id }, reason }) => `${id}:${reason}`).join(' ');

test('by score: what counts decides, the rest stands in, and every candidate is told of', () => {
  const models = [priced('cheap', 100, 0.5), priced('good', 200, 0.9), priced('bad', 300, 0.1), priced('spare', 1, 1)];
  const snapshot = config(models, [
    route('r', {
      candidates: ['cheap', 'good', 'bad'].map((name) => candidate(name)),
      fallback: ['spare'],
      score: SCORE,
    }),
  ]);
  const decision = rig(snapshot).decide();
  assert.equal(order(decision), 'cheap@b:best_score good@b:best_score bad@b:best_score spare@b:fallback');
  const [first, , , last] = decision.judged();
  assert.deepEqual(first?.terms, { cost: 1, latency: 0.5, quality: 0.5 });
  assert.deepEqual([first?.place, first?.reason, last?.place, last?.terms], [1, 'best_score', 4, null]);
  const quality = { ...SCORE, weights: { cost: 0, latency: 0, quality: 1 } };
  const by = config(models, [
    route('r', { candidates: models.slice(0, 3).map(({ name }) => candidate(name)), score: quality }),
  ]);
  assert.match(order(rig(by).decide()), /^good@b/);
});

test('quality for a type of request', () => {
  const made = deployment('code', 'b');
  const code = model('code', 'b', {
    deployments: [{ ...made, profile: { ...made.profile, quality: 0.1, qualityFor: new Map([['code', 1]]) } }],
  });
  const quality = { ...SCORE, weights: { cost: 0, latency: 0, quality: 1 } };
  const snapshot = config(
    [code, priced('chat', 1, 0.5)],
    [route('r', { candidates: [candidate('code'), candidate('chat')], score: quality })],
  );
  assert.match(order(rig(snapshot).decide()), /^chat@b/);
  assert.match(order(rig(snapshot).decide({ headers: [['x-request-type', 'code']] })), /^code@b/);
});

test('by load: to the deployment with most room', () => {
  const snapshot = config([model('m', 'a b', { balance: 'load' })], []);
  const made = rig(snapshot);
  const counts = { a: 0, b: 0 };
  for (let each = 0; each < 10; each += 1) {
    const first = made.decide({ model: 'm' }).candidates[0];
    counts[first.deployment.backend.name as 'a'] += 1;
    assert.equal(first.reason, 'least_loaded');
  }
  assert.deepEqual(counts, { a: 5, b: 5 });
});

test('what was decided is given back when the request ends', () => {
  const snapshot = config([model('m', 'a')], []);
  const made = rig(snapshot);
  made.decide({ model: 'm' });
  assert.equal(made.engine.tries.waiting, 1);
  void made.station.finish?.({ id: 'r1' } as never, {} as never);
  assert.equal(made.engine.tries.waiting, 0);
});

test('a breaker takes the first one out of the way, and the answer says so', () => {
  const snapshot = config([model('m', 'a b c')], []);
  const made = rig(snapshot);
  assert.equal(made.decide({ model: 'm' }).fallbackReason, null);
  made.fail('m', 'a');
  const decision = made.decide({ model: 'm' });
  assert.equal(order(decision), 'm@b:explicit m@c:explicit m@a:explicit');
  assert.equal(decision.fallbackReason, 'circuit_breaker_open');
  made.advance(10_100);
  assert.equal(order(made.decide({ model: 'm' })), 'm@a:probe m@b:explicit m@c:explicit');
});

test('a rest that was asked for is kept', () => {
  const snapshot = config([model('m', 'a b')], []);
  const made = rig(snapshot);
  made.busy('m', 'a', 2000);
  const decision = made.decide({ model: 'm' });
  assert.deepEqual([order(decision), decision.fallbackReason], ['m@b:explicit', 'cooling_down']);
  assert.equal(decision.judged().find(({ place }) => place === null)?.reason, 'cooling_down');
  made.advance(2001);
  assert.match(order(made.decide({ model: 'm' })), /^m@a/);
});

test('alone it serves all the same, also after a hard fall; by rule it is 503 with a time', () => {
  const lone = [model('m', 'a')];
  const serving = rig(config(lone, []));
  serving.fail('m', 'a');
  assert.equal(order(serving.decide({ model: 'm' })), 'm@a:last_resort');
  const strict = config(lone, []);
  const refusing = rig({ ...strict, breakers: { ...strict.breakers, whenAllOpen: 'refuse', text: 'back soon' } });
  refusing.fail('m', 'a');
  const refused = (work: () => unknown): GatewayError => {
    let caught: unknown;
    try {
      work();
    } catch (error) {
      caught = error;
    }
    assert.ok(caught instanceof GatewayError);
    return caught;
  };
  const error = refused(() => refusing.decide({ model: 'm' }));
  assert.deepEqual(
    [error.code, error.status, error.message, error.retryAfterMs],
    ['circuit_breaker_open', 503, 'back soon', 10_000],
  );
  assert.deepEqual(error.headers, [['x-fallback-reason', 'circuit_breaker_open']]);
  assert.ok(error instanceof NobodyLeft);
  assert.deepEqual(
    error.judged().map(({ deployment, place, reason }) => [deployment, place, reason]),
    [['m@a', null, 'circuit_breaker_open']],
  );
  serving.engine.breakers.adopt('m@a ', 'chat', 'hard', 0);
  assert.equal(order(serving.decide({ model: 'm' })), 'm@a:last_resort');
});

test('a sick deployment loses of its share', () => {
  const deployments = ['a', 'b'].map((backend) => deployment('m', backend));
  const snapshot = config([model('m', 'a', { deployments })], []);
  const engine = createEngine();
  const made = bench({ engine });
  for (const { id } of deployments)
    engine.board.of(targetOf({ deployment: deployments.find((each) => each.id === id) ?? deployments[0]! }, 1, 1, 0));
  engine.findings.set(incarnationOf({ deployment: deployments[0]! }), 'metrics', {
    factor: 0.1,
    reason: 'queue_long',
    detail: '',
    until: 1e9,
  });
  let sick = 0;
  for (let each = 0; each < 500; each += 1) {
    const ctx = { ...context(snapshot, { model: 'm' }), id: `r${each}`, deadline: 1e9, time: 0 } as ReturnType<
      typeof context
    >;
    const step = made.station.run?.(ctx);
    assert.ok(step !== undefined && 'adds' in step);
    if (step.adds.decision.candidates[0].deployment.backend.name === 'a') sick += 1;
    void made.station.finish?.(ctx, {} as never);
  }
  // A tenth against one: 9 % of 500.
  assert.ok(sick > 15 && sick < 90, String(sick));
});

test('canaries keep their share where candidates are scored', () => {
  const models = [priced('old', 100, 0.9), priced('new', 900, 0.1)];
  const candidates = [candidate('old', 95), candidate('new', 5, true)];
  const snapshot = config(models, [route('r', { candidates, score: SCORE })]);
  const draw = (at: number) => {
    const engine = createEngine();
    const made = bench({ engine, random: () => at });
    const ctx = { ...context(snapshot), id: 'r', deadline: 1e9, time: 0 } as ReturnType<typeof context>;
    const step = made.station.run?.(ctx);
    assert.ok(step !== undefined && 'adds' in step);
    return order(step.adds.decision);
  };
  assert.equal(draw(0.049), 'new@b:canary old@b:best_score');
  assert.equal(draw(0.051), 'old@b:best_score new@b:canary');
});

test('rules correct the score; an expression takes its place; one that fails is skipped, counted and named', () => {
  const models = [priced('cheap', 100, 0.5), priced('good', 200, 0.9)];
  const candidates = models.map(({ name }) => candidate(name));
  const scored = (score: Partial<RouteScore>) =>
    rig(config(models, [route('r', { candidates, score: { ...SCORE, ...score } })]));
  assert.match(order(scored({}).decide()), /^cheap/);
  const rules = [{ when: "target.model == 'cheap' && request.type == 'code'", multiply: 0.1 }];
  assert.match(order(scored({ rules }).decide()), /^cheap/);
  assert.match(order(scored({ rules }).decide({ headers: [['x-request-type', 'code']] })), /^good/);
  assert.match(order(scored({ expression: 'terms.quality' }).decide()), /^good/);
  assert.match(
    order(
      scored({
        expression: "target.running == 0 && request.prompt_tokens > 5 && target.model == 'good' ? 1 : 0",
      }).decide(),
    ),
    /^good/,
  );
  for (const broken of [
    { expression: 'claims.level + 1.0' },
    // Of another scale than the sum: where it fails for one, it counts for nobody.
    { expression: "target.model == 'good' ? double(1 / (target.running * 0)) : -1.0" },
    { rules: [{ when: 'claims.none == 1', multiply: 0 }] },
  ]) {
    const failing = scored(broken);
    assert.match(order(failing.decide()), /^cheap/);
    assert.deepEqual(failing.anomalies, ['route_rule_failed']);
  }
  // A penalty lifts nobody: scores are not negative.
  assert.equal(scored({ expression: '-1.0' }).decide().judged()[0]?.utility, 0);
});

test('without breakers nobody is held back', () => {
  const snapshot = config([model('m', 'a b')], []);
  const engine = createEngine({ breakerPolicy: () => null });
  const made = rig(snapshot, engine);
  made.fail('m', 'a', 20);
  made.busy('m', 'a', 60_000);
  assert.match(order(made.decide({ model: 'm' })), /^m@a:explicit/);
});

const talk = (turns: number): readonly { param: string; role: string; text: string }[] =>
  Array.from({ length: turns }, (_, at) => ({
    param: `messages[${at}].content`,
    role: at % 2 === 0 ? 'user' : 'assistant',
    text: `turn ${at} `.repeat(400),
  }));

test('turns of a conversation go where the earlier ones went, unless it is crowded, full or ill there', () => {
  for (const affinity of ['prefix', 'session'] as const) {
    const snapshot = config([model('m', 'a b c', { balance: 'load', affinity })], []);
    const made = rig(snapshot);
    const turn = (count: number) => made.decide({ model: 'm', texts: talk(count) });
    const home = turn(1).candidates[0];
    assert.equal(home.reason, 'least_loaded');
    for (const count of [3, 5]) {
      const decision = turn(count);
      assert.deepEqual(
        [decision.candidates[0].deployment.id, decision.candidates[0].reason],
        [home.deployment.id, 'warm'],
      );
      const [first, second] = decision.judged();
      assert.deepEqual([first?.warm, second?.warm], [affinity === 'session' ? 1 : count === 3 ? 0.25 : 0.667, 0]);
    }
    turn(7);
    assert.equal(turn(9).candidates[0].reason, 'warm');
    // Five run there and nothing elsewhere: above 1.5 times the mean, and 2.
    assert.notEqual(turn(11).candidates[0].deployment.id, home.deployment.id);
    assert.deepEqual(made.affinities, ['m miss', 'm hit', 'm hit', 'm hit', 'm hit', 'm gated']);
  }
});

test('what failed before its first piece leaves nothing warm, nor what never began', async () => {
  const snapshot = config([model('m', 'a b', { balance: 'load', affinity: 'session' })], []);
  const engine = createEngine();
  const made = bench({ engine });
  const ctx = { ...context(snapshot, { model: 'm' }), id: 'r1', deadline: 1e9, time: 0 } as ReturnType<typeof context>;
  const decide = () => {
    const step = made.station.run?.(ctx);
    assert.ok(step !== undefined && 'adds' in step);
    return step.adds.decision.candidates[0];
  };
  const { deployment: first } = decide();
  await made.station.finish?.(ctx, {} as never);
  assert.equal(decide().reason, 'least_loaded');
  const work = { promptTokens: 10, outputTokens: 10, kind: 'chat', stream: false };
  const warm = warmthOf(ctx).warm('m');
  const target = targetOf({ deployment: first }, 1, 1, 0);
  await made.station.finish?.(ctx, {} as never);
  engine.tries.end(engine.tries.begin('r2', target, { ...work, warm }, 0, 1e9), { kind: 'served', tokens: 1 }, 1);
  const again = decide();
  assert.deepEqual([again.deployment.id, again.reason], [first.id, 'warm']);
  await made.station.finish?.(ctx, {} as never);
  assert.deepEqual(made.affinities, ['m miss', 'm miss', 'm hit']);
});

test('a model without affinity, and one shared by weight, take no notice; a preview counts nowhere', () => {
  for (const changes of [{ balance: 'load' }, { affinity: 'prefix' }] as const) {
    const made = rig(config([model('m', 'a b', changes)], []));
    const decision = made.decide({ model: 'm', texts: talk(5) });
    assert.equal(decision.judged()[0]?.warm, null);
    assert.deepEqual(made.affinities, []);
  }
  const snapshot = config([model('m', 'a b', { balance: 'load', affinity: 'session' })], []);
  const made = bench();
  const ctx = { ...context(snapshot, { model: 'm' }), id: 'r', deadline: 1e9, time: 0 } as ReturnType<typeof context>;
  assert.equal(made.station.preview(ctx).decision.judged()[0]?.warm, 0);
  assert.equal(made.station.preview(ctx).decision.candidates[0].reason, 'least_loaded');
  assert.deepEqual(made.affinities, []);
});

test('tenants have nothing warm in common', () => {
  const snapshot = config([model('m', 'a b', { balance: 'load', affinity: 'prefix' })], []);
  const made = rig(snapshot);
  made.decide({ model: 'm', texts: talk(3), tenant: 'acme' });
  made.decide({ model: 'm', texts: talk(3), tenant: 'globex' });
  assert.deepEqual(made.affinities, ['m miss', 'm miss']);
});

test('0 % of canaries is none, whatever their weights', () => {
  for (const score of [null, SCORE]) {
    const candidates = [candidate('old', 0), candidate('new', 1, true)];
    const made = rig(config([priced('old', 1, 1), priced('new', 1, 1)], [route('r', { candidates, score })]));
    const decision = made.decide({ scopes: ['canary'], headers: [['x-canary-percentage', '0']] });
    assert.equal(order(decision).startsWith('old@b'), true, order(decision));
    assert.equal(order(decision).includes('new@b'), false);
  }
});
