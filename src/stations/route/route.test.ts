import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../lib/hash32/seeded-random.ts';
import {
  bench,
  candidate,
  config,
  DEFAULT_ROUTE,
  decide,
  deployment,
  model,
  nearShare,
  route,
} from './route-kit.test.ts';
import type { Ask } from './route-kit.test.ts';

const code = (value: string, param: string | null = 'model') => ({ code: value, param });

test('routes in order: the first whose names and rule fit', () => {
  const models = [model('fast'), model('good'), model('other')];
  const snapshot = config(models, [
    route('vip', { match: "tenant.tier == 'premium'", candidates: [candidate('good')] }),
    route('gpt', { models: ['gpt-*', 'exact'], candidates: [candidate('other')] }),
    route('rest', { candidates: [candidate('fast')], fallback: ['good'] }),
  ]);
  const made = bench();
  assert.equal(decide(made, snapshot, { tier: 'premium' }).route.id, 'vip');
  const rest = decide(made, snapshot);
  assert.equal(rest.route.id, 'rest');
  assert.equal(rest.reason, 'match');
  assert.equal(rest.ids, 'fast@a good@a');
  assert.deepEqual(
    rest.candidates.map((each) => each.reason),
    ['weighted', 'fallback'],
  );
  for (const name of ['gpt-', 'gpt-5', 'exact'])
    assert.equal(decide(made, snapshot, { model: name }).route.id, 'gpt', name);
  for (const name of ['gpt', 'GPT-5', 'exact2', 'x-gpt-5']) {
    assert.throws(() => decide(made, snapshot, { model: name }), code('model_not_found'), name);
  }
});

test('a model asked for by name: its deployments, then its fallback', () => {
  const models = [model('fast', 'a b', { fallback: ['good'] }), model('good', 'c')];
  const made = decide(bench(), config(models, []), { model: 'fast' });
  assert.equal(made.ids, 'fast@a fast@b good@c');
  assert.equal(made.route.id, 'model:fast');
  assert.equal(made.reason, 'model');
  assert.equal(made.route.onStoreError, 'deny');
  assert.deepEqual(
    made.candidates.map((each) => each.reason),
    ['explicit', 'explicit', 'fallback'],
  );
});

test('the default route lends its rules to a model asked for by name', () => {
  const made = decide(bench(), config([model('fast')], [DEFAULT_ROUTE]), { model: 'fast' });
  assert.equal(made.route.id, 'model:fast');
  assert.equal(made.route.onStoreError, 'allow');
  assert.equal(made.route.timeoutMs, 777);
});

test('a named route without candidates serves the model asked for, by its own rules', () => {
  const patient = route('patient', { models: ['*'], match: 'request.stream', fallback: ['good'], timeoutMs: 5 });
  const snapshot = config(
    [model('fast', 'a', { fallback: ['last'] }), model('good'), model('last')],
    [patient, DEFAULT_ROUTE],
  );
  const made = decide(bench(), snapshot, { model: 'fast', stream: true });
  assert.equal(made.route.id, 'patient');
  assert.equal(made.route.timeoutMs, 5);
  assert.equal(made.ids, 'fast@a good@a last@a');
  assert.equal(decide(bench(), snapshot, { model: 'fast' }).route.id, 'model:fast');
  assert.throws(() => decide(bench(), snapshot, { model: 'auto', stream: true }), code('no_candidate', null));
});

test('a default route with candidates is told so', () => {
  const made = decide(bench(), config([model('fast')], [{ ...DEFAULT_ROUTE, candidates: [candidate('fast')] }]));
  assert.equal(made.route.id, 'default');
  assert.equal(made.reason, 'default');
});

test('aliases: by name, and for the names of a route', () => {
  const aliases = new Map([['quick', 'fast']]);
  const snapshot = config([model('fast'), model('good')], [], { aliases });
  assert.equal(decide(bench(), snapshot, { model: 'quick' }).route.id, 'model:fast');
  const routed = config(
    [model('fast'), model('good')],
    [route('r', { models: ['fast'], candidates: [candidate('good')] })],
    { aliases },
  );
  assert.equal(decide(bench(), routed, { model: 'quick' }).ids, 'good@a');
});

test('auto that no route takes, and names that lead nowhere', () => {
  const snapshot = config(
    [model('fast')],
    [route('r', { match: 'request.stream', candidates: [candidate('fast')] }), DEFAULT_ROUTE],
  );
  assert.throws(() => decide(bench(), snapshot), { ...code('no_candidate', null), status: 503 });
  assert.throws(() => decide(bench(), snapshot, { model: 'nope' }), {
    ...code('model_not_found'),
    status: 404,
    message: /'nope'/,
  });
  const long = 'x'.repeat(100_000);
  assert.throws(
    () => decide(bench(), snapshot, { model: long }),
    (error: Error) => error.message.length < 300,
  );
  const named = config([model('auto')], []);
  assert.equal(decide(bench(), named).route.id, 'model:auto');
});

test('retired models never serve', () => {
  const old = model('old', 'z', { stage: 'retired' });
  const models = [old, model('fast', 'a', { fallback: ['old'] })];
  assert.throws(() => decide(bench(), config(models, []), { model: 'old' }), code('model_not_found'));
  assert.equal(decide(bench(), config(models, []), { model: 'fast' }).ids, 'fast@a');
  const mixed = route('r', { candidates: [candidate('old', 1000), candidate('fast')], fallback: ['old'] });
  assert.equal(decide(bench(), config(models, [mixed])).ids, 'fast@a');
  const dead = route('dead', { candidates: [candidate('old')] });
  assert.equal(decide(bench(), config(models, [dead, mixed])).route.id, 'r');
});

test('gray models by name: only with the scope canary', () => {
  const snapshot = config([model('new', 'a', { stage: 'gray' })], []);
  assert.throws(() => decide(bench(), snapshot, { model: 'new' }), code('model_not_found'));
  assert.equal(decide(bench(), snapshot, { model: 'new', scopes: ['canary'] }).ids, 'new@a');
  assert.throws(() => decide(bench(), snapshot, { model: 'new' }), code('model_not_found'));
});

test('a deployment stands once, at its best place', () => {
  const models = [model('fast', 'a b'), model('good', 'c', { fallback: ['fast'] })];
  const snapshot = config(models, [
    route('r', { candidates: [candidate('fast')], fallback: ['good', 'fast', 'good'] }),
  ]);
  assert.equal(decide(bench(), snapshot).ids, 'fast@a fast@b good@c');
});

test('candidates share by weight, and so do deployments; the others follow', () => {
  const weighted = {
    ...model('fast'),
    deployments: [deployment('fast', 'a', { weight: 3 }), deployment('fast', 'b', { weight: 1 })],
  };
  const models = [weighted, model('good', 'c'), model('off', 'd'), model('safe', 'e')];
  const candidates = [candidate('fast', 80), candidate('good', 20), candidate('off', 0)];
  const snapshot = config(models, [route('r', { candidates, fallback: ['safe'] })]);
  const made = bench({ random: seededRandom(11) });
  const counts = new Map<string, number>();
  const runs = 5000;
  for (let run = 0; run < runs; run += 1) {
    const { ids } = decide(made, snapshot);
    assert.deepEqual(new Set(ids.split(' ')), new Set(['fast@a', 'fast@b', 'good@c', 'safe@e']));
    assert.ok(ids.endsWith('safe@e'));
    const first = ids.split(' ')[0] ?? '';
    counts.set(first, (counts.get(first) ?? 0) + 1);
  }
  for (const [id, share] of [
    ['fast@a', 0.6],
    ['fast@b', 0.2],
    ['good@c', 0.2],
  ] as const) {
    assert.ok(nearShare(counts.get(id) ?? 0, runs, share), `${id}: ${counts.get(id)}`);
  }
});

test('the share holds although the rules are remembered', () => {
  const snapshot = config(
    [model('x'), model('y')],
    [route('r', { match: "tenant.name == 'acme'", candidates: [candidate('x'), candidate('y')] })],
  );
  const made = bench({ random: seededRandom(5) });
  const decisions = Array.from({ length: 2000 }, () => decide(made, snapshot));
  assert.ok(decisions.slice(1).every((each) => each.cached));
  assert.ok(nearShare(decisions.filter((each) => each.ids.startsWith('x')).length, 2000, 0.5));
});

function canaryFirsts(
  ask: Ask,
  runs = 2000,
  weight = 10,
): { readonly share: number; readonly note: string; readonly all: Set<string> } {
  const candidates = [candidate('old', 90), candidate('new', weight, true)];
  const snapshot = config([model('old'), model('new', 'b')], [route('r', { candidates })]);
  const made = bench({ random: seededRandom(9) });
  const decisions = Array.from({ length: runs }, () => decide(made, snapshot, ask));
  const first = decisions.filter((each) => each.candidates[0].reason === 'canary').length;
  return {
    share: first / runs,
    note: decisions[0]?.note.reason ?? '',
    all: new Set(decisions.map((each) => each.ids)),
  };
}

const wish = (value: string): Ask => ({ headers: [['x-canary-percentage', value]], scopes: ['canary'] });

test('canaries get their weight, or the share that a tester asks for', () => {
  assert.ok(nearShare(canaryFirsts({}).share * 2000, 2000, 0.1));
  assert.ok(nearShare(canaryFirsts(wish('30')).share * 2000, 2000, 0.3));
  assert.ok(nearShare(canaryFirsts(wish('30'), 2000, 0).share * 2000, 2000, 0.3));
  assert.equal(canaryFirsts(wish('100')).share, 1);
  assert.deepEqual([...canaryFirsts(wish('0')).all], ['old@a']);
  assert.deepEqual([...canaryFirsts({}, 100, 0).all], ['old@a']);
});

test('a retired candidate neither hides the canaries nor the ones of weight 0', () => {
  const models = [model('old', 'z', { stage: 'retired' }), model('new', 'b'), model('spare', 'c')];
  const only = [candidate('old', 90), candidate('new', 10, true)];
  assert.equal(decide(bench(), config(models, [route('r', { candidates: only })]), wish('0')).ids, 'new@b');
  const spare = [candidate('old', 90), candidate('spare', 0)];
  assert.equal(decide(bench(), config(models, [route('r', { candidates: spare })])).ids, 'spare@c');
});

test('the canary header is ignored, and noted, where it is not allowed or not a percentage', () => {
  const plain = canaryFirsts({}).share;
  for (const ask of [
    { headers: wish('100').headers ?? [] },
    wish('101'),
    wish('-1'),
    wish('1e1'),
    wish(''),
    wish(' 5'),
    wish('50.5'),
  ]) {
    const { share, note } = canaryFirsts(ask);
    assert.equal(share, plain);
    assert.match(note, /x-canary-percentage ignored/);
  }
  const twice: Ask = {
    ...wish('100'),
    headers: [
      ['x-canary-percentage', '0'],
      ['x-canary-percentage', '100'],
    ],
  };
  assert.match(canaryFirsts(twice).note, /ignored/);
});

test('a candidate whose context is too small is passed over', () => {
  const small = {
    p95Ms: null,
    firstTokenMs: null,
    tokenMs: null,
    quality: 1,
    qualityFor: new Map(),
    context: 100,
    defaultMaxTokens: 1,
  };
  const models = [
    { ...model('small'), deployments: [deployment('small', 'a', { profile: small })] },
    { ...model('open'), deployments: [deployment('open', 'b', { profile: { ...small, context: 0 } })] },
  ];
  const both = config(models, [route('r', { candidates: [candidate('small')], fallback: ['open'] })]);
  assert.equal(decide(bench(), both, { promptTokens: 60, maxOutputTokens: 40 }).ids, 'small@a open@b');
  assert.equal(decide(bench(), both, { promptTokens: 60, maxOutputTokens: 41 }).ids, 'open@b');
  assert.equal(decide(bench(), both, { promptTokens: 100 }).ids, 'small@a open@b');
  const alone = config(models, []);
  const tooLong = { model: 'small', promptTokens: 101 };
  assert.throws(() => decide(bench(), alone, tooLong), {
    code: 'context_length_exceeded',
    status: 400,
    param: 'messages',
  });
  assert.throws(() => decide(bench(), alone, { ...tooLong, endpoint: 'embeddings' }), { param: 'input' });
  assert.throws(() => decide(bench(), alone, { ...tooLong, endpoint: 'completions' }), {
    param: 'prompt',
    message: /100 tokens/,
  });
});

test('only deployments whose dialect serves the endpoint', () => {
  const mixed = { ...model('m'), deployments: [deployment('m', 'a', {}, 'anthropic'), deployment('m', 'b')] };
  const none = { ...model('none'), deployments: [deployment('none', 'a', {}, 'anthropic')] };
  const made = bench({ supports: (dialect, endpoint) => endpoint !== 'embeddings' || dialect === 'openai' });
  const snapshot = config(
    [mixed, none],
    [route('first', { candidates: [candidate('none')] }), route('second', { candidates: [candidate('m')] })],
  );
  assert.equal(decide(made, snapshot, { model: 'm', endpoint: 'embeddings' }).ids, 'm@b');
  assert.equal(decide(made, snapshot, { endpoint: 'embeddings' }).route.id, 'second');
  assert.equal(decide(made, snapshot).route.id, 'first');
  assert.throws(
    () => decide(made, snapshot, { model: 'none', endpoint: 'embeddings' }),
    (error: Error) => /embeddings/.test(error.message),
  );
});

test('a rule that fails is no match, is counted and named, and holds nothing of the request', () => {
  const snapshot = config(
    [model('x')],
    [
      route('by-level', { match: 'claims.level > 3', candidates: [candidate('x')] }),
      route('rest', { candidates: [candidate('x')] }),
    ],
  );
  const made = bench();
  const decision = decide(made, snapshot, { claims: { other: 'canary-value' } });
  assert.equal(decision.route.id, 'rest');
  assert.match(decision.note.reason, /rule failed: by-level: no_such_key/);
  assert.ok(!decision.note.reason.includes('canary-value'));
  assert.deepEqual(made.anomalies, ['route_rule_failed']);
  assert.equal(decide(made, snapshot, { claims: { level: 4 } }).route.id, 'by-level');
});

test('a rule that cannot be compiled takes nothing and breaks nothing', () => {
  const bad = route('bad', { match: "request.model.matches('a')", candidates: [candidate('x')] });
  const made = bench();
  assert.equal(
    decide(made, config([model('x')], [bad, route('rest', { candidates: [candidate('x')] })])).route.id,
    'rest',
  );
  assert.deepEqual(made.anomalies, ['route_rule_unusable']);
});
