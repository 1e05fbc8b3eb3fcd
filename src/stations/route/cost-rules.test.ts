import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { CostTier, LineRecord } from '../../core/directory.ts';
import { GatewayError } from '../../core/error.ts';
import { microUnits } from '../../core/money.ts';
import { NO_PROTECTION, type ProtectionView } from '../../core/ports/budget-state.ts';
import { type DirectoryView, NO_DIRECTORY } from '../../core/ports/directory-view.ts';
import type { Deployment, Model, Snapshot } from '../../core/snapshot.ts';
import { candidate, config, context, deployment, model, route, silentLog } from './route-kit.test.ts';
import { createRoute } from './route.ts';

const T = Date.parse('2026-03-31T12:00:00Z');
const UNTIL = Date.parse('2026-04-01T00:00:00Z');

/** A model with one deployment of that price. */
function priced(name: string, price: number, costTier: CostTier = 'economy', changes: Partial<Model> = {}): Model {
  const amount = microUnits(price);
  const made: Deployment = deployment(name, 'b', {
    costTier,
    price: { currency: 'USD', promptPerMtok: amount, cachedPerMtok: amount, completionPerMtok: microUnits(0) },
  });
  return model(name, 'b', { deployments: [made], ...changes });
}

/** Protects the line `general` of `acme`, or all of `acme`. */
const used = (businessLine: string | null): ProtectionView => ({
  of: (tenant, line) =>
    tenant === 'acme' && (businessLine === null || line === businessLine)
      ? { budget: 'budget_1', businessLine, period: '2026-03', until: UNTIL }
      : null,
});

const tierOf = (costTier: CostTier): DirectoryView => ({
  ...NO_DIRECTORY,
  line: (tenant, name) => (tenant === 'acme' && name === 'general' ? ({ costTier } as LineRecord) : null),
});

interface Rig {
  readonly protection?: ProtectionView;
  readonly directory?: DirectoryView;
  readonly model?: string;
  readonly tenant?: string;
}

/** Ids of the candidates, what the header would say, and the note. */
function decide(snapshot: Snapshot, { protection = NO_PROTECTION, directory = NO_DIRECTORY, ...ask }: Rig = {}) {
  const station = createRoute({
    log: silentLog,
    metrics: { anomaly: () => {} } as never,
    clock: { now: () => 0, time: () => T },
    supports: () => true,
    random: () => 0,
    protection,
    directory,
  });
  const step = station.run?.(context(snapshot, { model: 'auto', ...ask }));
  assert.ok(step !== undefined && 'adds' in step);
  const { candidates, fallbackReason } = step.adds.decision;
  return {
    models: candidates.map((each) => each.deployment.model).join(' '),
    fallbackReason,
    reason: step.note.reason,
  };
}

function refused(work: () => unknown): GatewayError {
  let caught: unknown = null;
  try {
    work();
  } catch (error) {
    caught = error;
  }
  assert.ok(caught instanceof GatewayError, 'was not refused');
  return caught;
}

const MODELS = [
  priced('dear', 900),
  priced('mid', 500),
  priced('low', 100),
  priced('same', 900),
  priced('dearest', 2000),
];
const all = (protect: 'cheaper' | 'deny' | 'none') =>
  config(MODELS, [
    route('r', { candidates: [candidate('dear')], fallback: ['dearest', 'mid', 'same', 'low'], protect }),
  ]);

test('cheaper: only what costs less than the one that would have served, cheapest first', () => {
  const usual = 'dear dearest mid same low';
  assert.deepEqual(decide(all('cheaper')).models, usual);
  for (const protection of [used('general'), used(null)]) {
    const made = decide(all('cheaper'), { protection });
    assert.equal(made.models, 'low mid');
    assert.equal(made.fallbackReason, 'budget_exhausted');
    assert.match(made.reason, /budget_1 is used up for 2026-03: only candidates cheaper than dear@b/);
  }
  assert.equal(decide(all('cheaper'), { protection: used('other') }).models, usual);
  assert.equal(decide(all('cheaper'), { protection: used(null), tenant: 'else' }).models, usual);
});

test('cheaper, with nothing cheaper: the usual one serves and no dearer one stands in', () => {
  const snapshot = config(MODELS, [route('r', { candidates: [candidate('low')], fallback: ['mid', 'dear'] })]);
  const made = decide(snapshot, { protection: used('general') });
  assert.deepEqual([made.models, made.fallbackReason], ['low', null]);
  assert.match(made.reason, /nothing is cheaper than low@b/);
});

test('none goes on, deny refuses until the new period', () => {
  const made = decide(all('none'), { protection: used('general') });
  assert.deepEqual([made.models, made.fallbackReason], ['dear dearest mid same low', null]);
  assert.match(made.reason, /route goes on/);
  const error = refused(() => decide(all('deny'), { protection: used('general') }));
  assert.deepEqual([error.code, error.status, error.retryAfterMs], ['budget_exceeded', 429, UNTIL - T]);
  assert.match(error.message, /business line general is used up. A new one begins at 2026-04-01T00:00:00.000Z/);
  assert.match(refused(() => decide(all('deny'), { protection: used(null) })).message, /tenant acme/);
  assert.equal(decide(all('deny')).fallbackReason, null);
});

test('a model asked for by name falls back to its own cheaper ones', () => {
  const snapshot = config([priced('dear', 900, 'economy', { fallback: ['low'] }), priced('low', 100)], []);
  assert.equal(decide(snapshot, { model: 'dear', protection: used('general') }).models, 'low');
  assert.equal(decide(snapshot, { model: 'low', protection: used('general') }).models, 'low');
});

test('prices of another currency are no saving', () => {
  const euro = priced('euro', 1);
  const foreign = {
    ...euro,
    deployments: euro.deployments.map((d) => ({ ...d, price: { ...d.price, currency: 'EUR' } })),
  };
  const snapshot = config(
    [priced('dear', 900), foreign],
    [route('r', { candidates: [candidate('dear')], fallback: ['euro'] })],
  );
  assert.equal(decide(snapshot, { protection: used('general') }).models, 'dear');
});

test('under protection nobody serves who costs more than usual, and the header is told exactly when it costs less', () => {
  const prices = fc.array(fc.nat(5), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(prices, (each) => {
      const models = each.map((price, at) => priced(`m${at}`, price));
      const cost = new Map(models.map(({ name }, at) => [name, each[at] ?? -1]));
      const [first, ...rest] = models.map(({ name }) => name);
      const snapshot = config(models, [route('r', { candidates: [candidate(first ?? '')], fallback: rest })]);
      const usual = each[0] ?? -1;
      const made = decide(snapshot, { protection: used(null) });
      const costs = made.models.split(' ').map((name) => cost.get(name) ?? -1);
      const cheapest = Math.min(...each);
      assert.equal(costs[0], cheapest);
      assert.ok(costs.every((one) => (cheapest < usual ? one < usual : one === usual)));
      assert.equal(made.fallbackReason, cheapest < usual ? 'budget_exhausted' : null);
    }),
    { numRuns: 200 },
  );
});

test('a cost tier leaves out dearer classes and says so', () => {
  const models = [priced('big', 900, 'core'), priced('mid', 500, 'standard'), priced('low', 100, 'economy')];
  const snapshot = config(models, [route('r', { candidates: [candidate('big')], fallback: ['mid', 'low'] })]);
  assert.equal(decide(snapshot, { directory: tierOf('core') }).models, 'big mid low');
  const standard = decide(snapshot, { directory: tierOf('standard') });
  assert.deepEqual([standard.models, standard.fallbackReason], ['mid low', null]);
  assert.match(standard.reason, /business line general is standard: left out big@b/);
  assert.equal(decide(snapshot, { directory: tierOf('economy') }).models, 'low');
  assert.equal(decide(snapshot, { directory: tierOf('economy'), tenant: 'else' }).models, 'big mid low');
  const error = refused(() => decide(config(models, []), { model: 'big', directory: tierOf('standard') }));
  assert.deepEqual([error.code, error.param], ['model_not_allowed', 'model']);
});

test('tier first, then protection', () => {
  const models = [priced('big', 900, 'core'), priced('mid', 500, 'standard'), priced('low', 100, 'economy')];
  const snapshot = config(models, [route('r', { candidates: [candidate('big')], fallback: ['mid', 'low'] })]);
  const made = decide(snapshot, { directory: tierOf('standard'), protection: used(null) });
  assert.deepEqual([made.models, made.fallbackReason], ['low', 'budget_exhausted']);
});
