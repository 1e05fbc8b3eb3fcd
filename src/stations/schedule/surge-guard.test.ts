import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestContext } from '../../core/context.ts';
import { GatewayError } from '../../core/error.ts';
import { HeaderList, type HeaderPair } from '../../core/http.ts';
import { isPromise } from '../../core/maybe-promise.ts';
import type { SurgePolicy } from '../../core/surge.ts';
import { bench, context, runOf } from './schedule-bench.ts';
import { createSurgeGuard } from './surge-guard.ts';

const DIVERT = { share: 0.1, model: 'light' };
const POLICY: SurgePolicy = {
  levels: [
    { above: 1, largestN: 2, divert: null, bufferStreams: false },
    { above: 2, largestN: 1, divert: DIVERT, bufferStreams: false },
    { above: 3, largestN: 1, divert: DIVERT, bufferStreams: true },
  ],
  leaveBelow: 0.85,
  leaveAfterMs: 7000,
  exemptTiers: new Set(['gold']),
};

interface Given {
  readonly level: number;
  readonly n?: number;
  readonly stream?: boolean;
  readonly endpoint?: 'chat' | 'completions' | 'embeddings';
  readonly headers?: readonly HeaderPair[];
  readonly tier?: string;
  /** What the route says before and after the reservation. */
  readonly routes?: readonly [boolean, boolean];
  readonly policy?: SurgePolicy | null;
  readonly json?: object;
}

function rig(given: Given) {
  const { level, n = 1, stream = false, endpoint = 'chat', routes = [false, false], policy = POLICY } = given;
  const json = given.json ?? { n };
  const raw = Buffer.from(JSON.stringify(json));
  const spans = new Map(Object.keys(json).map((name) => [name, spanOf(raw, name)]));
  const ctx = context({
    request: { n, stream, endpoint, json, raw, spans },
    principal: { tier: given.tier ?? 'standard' },
  }) as { -readonly [K in keyof RequestContext]: RequestContext[K] };
  Object.assign(ctx, { endpoint, head: { ...ctx.head, headers: new HeaderList(given.headers ?? []) } });
  Object.assign(ctx.config, { surge: policy });
  Object.assign(ctx.decision.route, { reduceN: routes[1] });
  const seen: string[] = [];
  const guard = createSurgeGuard({
    surge: { arrived: () => seen.push('arrived'), level: () => level },
    metrics: { surgeAction: (action) => seen.push(action) },
    routeOf: () => {
      seen.push('looked for the route');
      return { reduceN: routes[0] };
    },
  });
  const take = (moment: 'head' | 'run'): void => {
    const step = guard[moment]?.(ctx);
    assert.ok(step !== undefined && !isPromise(step) && 'adds' in step);
    Object.assign(ctx, step.adds);
  };
  const place = () => guard.place?.(ctx);
  return { ctx, seen, head: () => take('head'), run: () => take('run'), place };
}

function spanOf(raw: Buffer, name: string): { start: number; end: number } {
  const start = raw.indexOf(`"${name}":`) + name.length + 3;
  return { start, end: start + (/^\d+/.exec(raw.toString().slice(start))?.[0].length ?? 0) };
}

function refusal(work: () => unknown): GatewayError {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error));
    return error;
  }
  return assert.fail('not refused');
}

test('as usual: counted, and nothing else', () => {
  const { ctx, seen, head, run, place } = rig({ level: 0, n: 9, stream: true });
  head();
  run();
  assert.doesNotThrow(place);
  assert.equal(ctx.surge, undefined);
  assert.deepEqual(seen, ['arrived']);
});

test('too many choices are refused with what would pass, before anything else is asked', () => {
  const { ctx, seen, head, run } = rig({ level: 1, n: 3 });
  head();
  const error = refusal(run);
  assert.deepEqual([error.code, error.status, error.param, error.retryAfterMs], ['surge_protection', 429, 'n', 7000]);
  assert.match(error.message, /n up to 2 only\. Send n: 2, .*x-accept-adapted: n/);
  assert.deepEqual(error.headers, [
    ['x-tokenlat-surge', '1'],
    ['x-tokenlat-largest-n', '2'],
  ]);
  assert.deepEqual(seen, ['arrived', 'looked for the route', 'refused_n']);
  assert.equal(ctx.surge?.level, 1, 'the trace knows the level');
});

test('as many as may pass do, at each level', () => {
  for (const [level, n] of [
    [1, 2],
    [2, 1],
    [3, 1],
    [9, 1],
  ] as const) {
    const { ctx, seen, head, run } = rig({ level, n });
    head();
    run();
    assert.deepEqual([ctx.surge?.reduced, ctx.request.n, seen], [null, n, ['arrived']]);
  }
});

test('the caller or the route may allow fewer', () => {
  const words = ['n', 'N', 'max_tokens, n'];
  for (const word of words) {
    const { ctx, seen, head, run, place } = rig({ level: 2, n: 4, headers: [['x-accept-adapted', word]] });
    head();
    run();
    assert.doesNotThrow(place, 'the caller allows it on any route');
    assert.deepEqual(ctx.surge?.reduced, { from: 4, to: 1, by: 'caller' });
    assert.deepEqual([ctx.request.n, ctx.request.raw.toString()], [1, '{"n":1}']);
    assert.deepEqual(seen, ['arrived', 'reduced_n']);
  }
  const other = rig({ level: 2, n: 4, headers: [['x-accept-adapted', 'max_tokens, nn']] });
  other.head();
  assert.equal(refusal(other.run).code, 'surge_protection');
  const routed = rig({ level: 2, n: 4, routes: [true, true] });
  routed.head();
  routed.run();
  assert.doesNotThrow(routed.place);
  assert.deepEqual(routed.ctx.surge?.reduced, { from: 4, to: 1, by: 'route' });
});

test('a route that turns out to be another one after the reservation refuses', () => {
  const { seen, head, run, place } = rig({ level: 2, n: 4, routes: [true, false] });
  head();
  run();
  assert.equal(refusal(place).code, 'surge_protection');
  assert.ok(seen.includes('refused_n'));
});

test('best_of is what is too much where n is not', () => {
  const asked = { level: 2, n: 5, endpoint: 'completions', json: { n: 1, best_of: 5 } } as const;
  const { head, run } = rig(asked);
  head();
  const error = refusal(run);
  assert.deepEqual([error.param, /best_of: 1/.test(error.message)], ['best_of', true]);
  const allowed = rig({ ...asked, headers: [['x-accept-adapted', 'n']] });
  allowed.head();
  allowed.run();
  assert.equal(allowed.ctx.request.raw.toString(), '{"n":1,"best_of":1}');
});

test('spared: tiers by the configuration, embeddings, and everybody where the configuration has no levels', () => {
  for (const given of [
    { level: 3, n: 5, stream: true, tier: 'gold' },
    { level: 3, n: 5, stream: true, policy: null },
  ]) {
    const { ctx, head, run } = rig(given);
    head();
    run();
    assert.deepEqual([ctx.surge, ctx.request.n], [undefined, 5]);
  }
  const { ctx, head, run } = rig({ level: 3, n: 5, endpoint: 'embeddings' });
  head();
  run();
  assert.equal(ctx.request.n, 5);
});

test('streams are asked for whole at a level that says so, and only there', () => {
  for (const [level, stream, expected] of [
    [2, true, false],
    [3, true, true],
    [3, false, false],
  ] as const) {
    const { ctx, seen, head, run } = rig({ level, stream });
    head();
    run();
    assert.deepEqual([ctx.surge?.buffered, seen.includes('buffered')], [expected, expected]);
    assert.equal(ctx.request.stream, stream, "the client's wish stays");
  }
});

test('what is reserved is what the reduced request may take', async () => {
  const b = bench();
  const { ctx, head, run } = rig({ level: 2, n: 4, headers: [['x-accept-adapted', 'n']] });
  head();
  run();
  await runOf(b, ctx);
  assert.equal(b.store.admitted[0]?.amounts.tokens, 10 + 300);
});
