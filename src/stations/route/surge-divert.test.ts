import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { GatewayError } from '../../core/error.ts';
import { candidate, config, context, model, route, silentLog } from './route-kit.test.ts';
import { silentMetrics } from '../../telemetry/silent.ts';
import type { Surged } from '../../core/surge.ts';
import { createRoute } from './route.ts';
import { placeOf } from '../../lib/sticky/place-of.ts';
import { divertedTo } from './surge-divert.ts';

const surged = (share: number): Surged => ({
  level: 2,
  divert: { share, model: 'light' },
  reduced: null,
  buffered: false,
});
const MODELS = [model('big', 'a b'), model('light', 'c'), model('other', 'd')];
const OPEN = route('open', { divert: true, candidates: [candidate('big')] });

function decide(share: number, { routes = [OPEN], ask = {}, models = MODELS } = {}) {
  const actions: string[] = [];
  const station = createRoute({
    log: silentLog,
    metrics: { ...silentMetrics, surgeAction: (action) => actions.push(action) },
    clock: { now: () => 0, time: () => 0 },
    supports: (dialect, endpoint) => !(dialect === 'none' && endpoint === 'embeddings'),
    random: () => 0.5,
  });
  const ctx = { ...context(config(models, routes), ask), surge: surged(share) };
  const step = station.run?.(ctx);
  assert.ok(step !== undefined && 'adds' in step);
  const { decision } = step.adds;
  return {
    served: decision.candidates.map(({ deployment }) => deployment.id),
    why: decision.fallbackReason,
    actions,
    note: step.note.reason,
  };
}

test('a diverted tenant goes to the light model first, and to the usual ones after it', () => {
  const { served, why, actions, note } = decide(1);
  assert.deepEqual(served, ['light@c', 'big@a', 'big@b']);
  assert.deepEqual([why, actions], ['surge', ['diverted']]);
  assert.match(note, /high load: tenant goes to light/);
});

test('nobody is diverted who is not in the share, on a route that does not allow it, or by a wish for the model itself', () => {
  const usual = ['big@a', 'big@b'];
  assert.deepEqual(decide(0), { ...decide(0), served: usual, why: null, actions: [] });
  assert.deepEqual(decide(1, { routes: [{ ...OPEN, divert: false }] }).served, usual);
  const named = decide(1, { routes: [route('all', { models: ['*'], divert: true })], ask: { model: 'light' } });
  assert.deepEqual([named.served, named.why], [['light@c'], null]);
});

test('a light model that cannot serve the request leaves it to the usual ones', () => {
  const small = model('light', 'c');
  const tiny = {
    ...small,
    deployments: small.deployments.map((each) => ({ ...each, profile: { ...each.profile, context: 5 } })),
  };
  for (const light of [tiny, model('light', 'c', { stage: 'retired' })]) {
    const { served, why, actions, note } = decide(1, { models: [MODELS[0]!, light] });
    assert.deepEqual([served, why, actions], [['big@a', 'big@b'], null, []]);
    assert.match(note, /which cannot serve/);
  }
});

test('the share is that of the tenants, and a larger one holds the smaller one', () => {
  const names = Array.from({ length: 20_000 }, (_, index) => `tenant-${index}`);
  for (const share of [0.05, 0.1, 0.5]) {
    const part = names.filter((name) => placeOf(name) < share).length / names.length;
    assert.ok(Math.abs(part - share) < 0.01, `${share}: ${part}`);
  }
  fc.assert(
    fc.property(fc.string(), fc.double({ min: 0, max: 1, noNaN: true }), (tenant, share) => {
      const at = placeOf(tenant);
      assert.ok(at >= 0 && at < 1);
      assert.equal(placeOf(tenant), at);
      const ctx = { surge: surged(share), principal: { tenant } } as Parameters<typeof divertedTo>[0];
      assert.equal(divertedTo(ctx, { divert: true }, { target: 'big' }), at < share ? 'light' : null);
    }),
  );
});

test('the route is known before anything is reserved; what is left of the day is not', () => {
  const rest = route('rest', { models: ['*'], match: 'tenant.tokens_remaining_today > 0', reduceN: true });
  const all = route('all', { models: ['*'] });
  const station = createRoute({
    log: silentLog,
    metrics: silentMetrics,
    clock: { now: () => 0, time: () => 0 },
    supports: () => true,
  });
  const { admission: _, ...ctx } = context(config(MODELS, [rest, all]), { model: 'big' });
  assert.equal(station.routeOf(ctx).id, 'all');
  assert.equal(station.routeOf({ ...ctx, config: config(MODELS, [OPEN, all]) }).divert, false);
  assert.throws(
    () => station.routeOf({ ...ctx, request: { ...ctx.request, model: 'no such' } }),
    (error) => error instanceof GatewayError && error.code === 'model_not_found',
  );
});
