import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { GatewayError } from '../../core/error.ts';
import { NobodyLeft } from '../../core/nobody-left.ts';
import type { Deployment, Model, Route, Snapshot } from '../../core/snapshot.ts';
import type { Stage } from '../../core/stage.ts';
import type { Zone, ZoneRules } from '../../core/zone.ts';
import { createEngine } from '../../routing/engine.ts';
import {
  type Ask,
  bench,
  candidate,
  config,
  context,
  decide,
  deployment,
  model,
  nearShare,
  route,
} from './route-kit.test.ts';
import { incarnationOf, targetOf } from './targets.ts';

interface At {
  readonly stage?: Stage;
  readonly percent?: number;
  readonly zone?: Zone;
  readonly limit?: number;
}

function at(name: string, backend: string, { stage = 'full', percent = 0, zone = 'hot', limit }: At = {}): Deployment {
  const made = deployment(name, backend, { weight: 0, stage, percent });
  return {
    ...made,
    backend: { ...made.backend, zone },
    concurrency: limit === undefined ? null : { limit, perInstance: null },
  };
}

const of = (...deployments: Deployment[]): Model => model('m', 'x', { deployments });
const ZONES: ZoneRules = { batchTypes: new Set(['batch']), hotBelow: 0.5, spillAbove: null, retryAfterMs: 10_000 };
const named = (ask: Ask = {}): Ask => ({ model: 'm', ...ask });
const session = (id: number, more: Ask = {}): Ask => named({ ...more, headers: [['x-session-id', `s${id}`]] });
const BATCH = named({ headers: [['x-request-type', 'batch']] });

function refusalOf(run: () => unknown): GatewayError {
  try {
    run();
  } catch (reason) {
    assert.ok(reason instanceof GatewayError);
    return reason;
  }
  return assert.fail('was not refused');
}

test('a gray deployment gets its share of the sessions and nobody else, the same ones each time; a retired one nothing', () => {
  const snapshot = config(
    [of(at('m', 'a'), at('m', 'b', { stage: 'gray', percent: 5 }), at('m', 'c', { stage: 'retired' }))],
    [],
  );
  const b = bench();
  const runs = 4000;
  let gray = 0;
  for (let id = 0; id < runs; id += 1) {
    const { ids } = decide(b, snapshot, session(id));
    assert.equal(decide(b, snapshot, session(id)).ids, ids);
    assert.ok(ids === 'm@a' || ids === 'm@b m@a', ids);
    if (ids === 'm@b m@a') gray += 1;
  }
  assert.ok(nearShare(gray, runs, 0.05), String(gray));
});

test('shares of one model lie side by side, and a greater one holds the subjects of a smaller one', () => {
  const b = bench();
  const placed = (first: number, second: number, id: number): string =>
    decide(
      b,
      config(
        [
          of(
            at('m', 'a'),
            at('m', 'b', { stage: 'gray', percent: first }),
            at('m', 'c', { stage: 'gray', percent: second }),
          ),
        ],
        [],
      ),
      session(id),
    ).ids;
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 50 }),
      fc.integer({ min: 0, max: 50 }),
      fc.nat(100_000),
      (first, second, id) => {
        const ids = placed(first, second, id);
        assert.ok(['m@a', 'm@b m@a', 'm@c m@a'].includes(ids), ids);
        if (ids === 'm@b m@a') assert.equal(placed(Math.min(100, first + 10), 0, id), ids);
        if (first + second === 100) assert.notEqual(ids, 'm@a');
      },
    ),
  );
});

test('a gray one is reached by wish, by a gray route and as a canary of a route; never by chance', () => {
  const models = [
    of(at('m', 'a'), at('m', 'b', { stage: 'gray' })),
    model('n', 'x', { deployments: [at('n', 'g', { zone: 'gray' })] }),
  ];
  const b = bench();
  const wish = (percent: string): string =>
    decide(b, config(models, []), named({ scopes: ['canary'], headers: [['x-canary-percentage', percent]] })).ids;
  assert.equal(wish('100'), 'm@b m@a');
  assert.equal(wish('0'), 'm@a');
  assert.equal(decide(b, config(models, [route('r', { zone: 'gray', candidates: [candidate('m')] })])).ids, 'm@b m@a');
  const canary = route('r', { candidates: [candidate('m', 0), candidate('n', 1, true)] });
  assert.equal(decide(b, config(models, [canary])).ids, 'n@g');
  assert.equal(refusalOf(() => decide(b, config(models, []), named({ model: 'n' }))).code, 'no_candidate');
});

test('a model without a deployment for the request is not there; the record names who was barred and why', () => {
  const b = bench();
  for (const stage of ['gray', 'retired'] as const)
    assert.equal(
      refusalOf(() => decide(b, config([of(at('m', 'a', { stage }))], []), named())).code,
      'model_not_found',
    );
  const judged = decide(
    b,
    config([of(at('m', 'a'), at('m', 'b', { stage: 'retired' }), at('m', 'c', { zone: 'gray' }))], []),
    named(),
  ).judged();
  assert.deepEqual(
    judged.map(({ deployment: id, place, reason }) => `${id} ${place} ${reason}`),
    ['m@a 1 explicit', 'm@b null stage', 'm@c null zone'],
  );
});

/** A station with so many requests running at each backend. */
function busy(snapshot: ReturnType<typeof config>, running: Readonly<Record<string, number>>) {
  const engine = createEngine();
  for (const each of snapshot.models.get('m')?.deployments ?? [])
    for (let n = 0; n < (running[each.backend.name] ?? 0); n += 1)
      engine.board.begin(
        targetOf({ deployment: each }, 1, 0.5, 0),
        { promptTokens: 1, outputTokens: 1, kind: 'chat', stream: false },
        0,
        1e9,
      );
  for (const each of snapshot.models.get('m')?.deployments ?? [])
    assert.equal(engine.board.runningOf(incarnationOf({ deployment: each })), running[each.backend.name] ?? 0);
  return bench({ engine });
}

test('batch work goes to its zone, uses hot ones below their bound only, and is refused first', () => {
  const snapshot = config([of(at('m', 'h', { limit: 10 }), at('m', 'b', { zone: 'batch', limit: 2 }))], [], {
    zones: ZONES,
  });
  const ids = (running: Record<string, number>, ask: Ask): string => decide(busy(snapshot, running), snapshot, ask).ids;
  assert.equal(ids({}, BATCH), 'm@b m@h');
  assert.equal(ids({ b: 2, h: 4 }, BATCH), 'm@h m@b');
  assert.equal(ids({ h: 5 }, BATCH), 'm@b');
  assert.equal(ids({ h: 10, b: 0 }, named()), 'm@h');
  assert.equal(ids({ h: 5 }, named()), 'm@h');
  const hotOnly = config([of(at('m', 'h', { limit: 10 }))], [], { zones: ZONES });
  assert.equal(decide(busy(hotOnly, { h: 4 }), hotOnly, BATCH).fallbackReason, 'zone');
  const refused = refusalOf(() => decide(busy(hotOnly, { h: 5 }), hotOnly, BATCH));
  assert.deepEqual([refused.code, refused.status, refused.retryAfterMs], ['zone_saturated', 429, 10_000]);
  assert.ok(refused instanceof NobodyLeft);
  assert.deepEqual(
    refused.judged().map(({ deployment, place, reason, running, load }) => [deployment, place, reason, running, load]),
    [['m@h', null, 'zone', 5, 0.5]],
  );
  assert.equal(decide(busy(hotOnly, { h: 5 }), hotOnly, named()).ids, 'm@h');
});

test('batch work is batch work whoever says so, and a zone of the route goes before', () => {
  const models = [of(at('m', 'h', { limit: 10 }), at('m', 'b', { zone: 'batch' }))];
  const rules = { zones: ZONES, priorities: { batchTiers: new Set(['bulk']), batchShare: 0.1 } };
  const byName = config(models, [], rules);
  const first = (snapshot: Snapshot, ask: Ask = named()): string =>
    decide(bench(), snapshot, ask).ids.split(' ')[0] ?? '';
  const asked = named({ headers: [['x-request-priority', 'batch']] });
  assert.deepEqual([first(byName), first(byName, asked)], ['m@h', 'm@b']);
  assert.equal(first(byName, named({ tier: 'bulk' })), 'm@b');
  const routed = (more: Partial<Route>) =>
    config(models, [route('r', { candidates: [candidate('m')], ...more })], rules);
  assert.equal(first(routed({ priority: 'batch' }), {}), 'm@b');
  assert.equal(first(routed({ zone: 'hot' }), { headers: asked.headers ?? [] }), 'm@h');
});

test('how busy hot ones are that have no bound is not known: batch work stays away', () => {
  const snapshot = config([of(at('m', 'h'))], [], { zones: ZONES });
  assert.equal(refusalOf(() => decide(bench(), snapshot, BATCH)).code, 'zone_saturated');
});

test('hot requests use batch backends by the spill rule alone', () => {
  const models = [of(at('m', 'h', { limit: 10 }), at('m', 'b', { zone: 'batch', limit: 2 }))];
  const spill = config(models, [], { zones: { ...ZONES, spillAbove: 0.9 } });
  assert.equal(decide(busy(spill, { h: 8 }), spill, named()).ids, 'm@h');
  const spilled = decide(busy(spill, { h: 9 }), spill, named());
  assert.deepEqual([spilled.ids, spilled.fallbackReason], ['m@b m@h', 'zone']);
  const batchOnly = config([of(at('m', 'b', { zone: 'batch' }))], [], { zones: ZONES });
  assert.equal(refusalOf(() => decide(bench(), batchOnly, named())).code, 'no_candidate');
});

test('a route says whose work its requests are', () => {
  const models = [of(at('m', 'h', { limit: 10 }), at('m', 'b', { zone: 'batch', limit: 2 }))];
  const snapshot = config(models, [route('night', { zone: 'batch', candidates: [candidate('m')] })], { zones: ZONES });
  assert.equal(decide(busy(snapshot, { h: 9 }), snapshot).ids, 'm@b');
});

test('a route that keeps to tenants or sessions draws the same for them each time, in the shares of its weights', () => {
  const models = [model('a', 'x'), model('b', 'y')];
  const b = bench();
  for (const split of ['tenant', 'session'] as const) {
    const snapshot = config(models, [route('r', { split, candidates: [candidate('a', 30), candidate('b', 70)] })]);
    let first = 0;
    for (let id = 0; id < 3000; id += 1) {
      const ask: Ask = split === 'tenant' ? { tenant: `t${id}` } : { headers: [['x-session-id', `s${id}`]] };
      const { ids } = decide(b, snapshot, ask);
      assert.equal(decide(b, snapshot, ask).ids, ids);
      if (ids === 'a@x b@y') first += 1;
    }
    assert.ok(nearShare(first, 3000, 0.3), `${split}: ${first}`);
  }
});

test('without zones and stages nothing is touched', () => {
  const snapshot = config([of(at('m', 'a'), at('m', 'b', { zone: 'batch' }))], []);
  assert.equal(decide(bench(), snapshot, named()).ids, 'm@a m@b');
  assert.equal(context(snapshot).config.zones, undefined);
});
