import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { LimitLine } from '../../core/limit.ts';
import { type AdmitResult, StoreUnavailable } from '../../core/ports/quota-store.ts';
import type { LedgerEvent } from '../../core/ledger-event.ts';
import { newRequestId, type OperationId } from '../../core/ids.ts';
import {
  type Asked,
  bench,
  context,
  deployment,
  ending,
  runOf,
  finishOf,
  placeOf,
  refusal,
  turn,
} from './schedule-bench.ts';

test('reserves from all lines in one call: those of tenant, subject and credential', async () => {
  const b = bench();
  const window = { kind: 'sliding', seconds: 60 } as const;
  const own: LimitLine = { scope: 'subject:ann', unit: 'tokens', window: { kind: 'calendar', unit: 'day' }, limit: 9 };
  const ctx = context({
    limits: [
      { unit: 'requests', window, limit: 5, per: 'tenant' },
      { unit: 'tokens', window, limit: 6, per: 'subject' },
    ],
    own: [own],
    request: { maxOutputTokens: 20, n: 3 },
  });
  assert.deepEqual(await runOf(b, ctx), { decision: 'held', reason: '70 tokens reserved on 0 limits' });
  const [call] = b.store.admitted;
  assert.deepEqual(call?.amounts, { requests: 1, tokens: 70, spend: 0 });
  assert.deepEqual(call?.lines, [
    { scope: 'tenant', unit: 'requests', window, limit: 5 },
    { scope: 'subject:ann', unit: 'tokens', window, limit: 6 },
    own,
  ]);
  assert.equal(call?.leaseMs, 900);
  assert.equal(call?.onExpiry?.cost, 130);
  assert.equal(call?.onExpiry?.currency, 'EUR');
  assert.deepEqual(ctx.admission, { kind: 'held', limits: [], reservedTokens: 70 });
});

test('the estimate follows the model asked for, and unknown tenants get the defaults', async () => {
  const cases: readonly (readonly [Asked, number])[] = [
    [{}, 310],
    [{ request: { model: 'alias' } }, 310],
    [{ request: { model: 'other' } }, 1034],
    [{ request: { endpoint: 'embeddings', maxOutputTokens: 50 } }, 10],
    [{ request: { maxOutputTokens: Number.MAX_SAFE_INTEGER, n: 100 } }, 1_000_000_010],
  ];
  for (const [asked, tokens] of cases) {
    const b = bench();
    await runOf(b, context({ ...asked, tenant: 'nobody', onCrash: 'release' }));
    assert.equal(b.store.admitted[0]?.amounts.tokens, tokens);
    assert.equal(b.store.admitted[0]?.onExpiry, null);
    assert.equal(b.store.admitted[0]?.lines.length, 1);
  }
});

test('a refusal names the limit, whose it is, what is left and when', async () => {
  const sliding: LimitLine = { scope: 'tenant', unit: 'tokens', window: { kind: 'sliding', seconds: 60 }, limit: 1000 };
  const daily: LimitLine = {
    scope: 'subject:ann',
    unit: 'requests',
    window: { kind: 'calendar', unit: 'day' },
    limit: 5,
  };
  const cases = [
    [
      sliding,
      1499,
      'rate_limit_exceeded',
      'Rate limit reached for tenant acme on tokens_per_minute: limit 1000, remaining 7, requested 310. Please try again in 2s.',
      '1s',
    ],
    [
      daily,
      3_600_000,
      'insufficient_quota',
      'Not enough quota left for subject ann on requests_per_day: limit 5, remaining 7, requested 1. Please try again in 1h0m0s.',
      '1s',
    ],
  ] as const;
  for (const [line, retryAfterMs, code, message, reset] of cases) {
    const b = bench();
    const by = { line, remaining: 7, resetMs: 1000 };
    b.store.admitWith = () => Promise.resolve({ kind: 'denied', by, limits: [by], retryAfterMs });
    const ctx = context();
    const error = await refusal(runOf(b, ctx));
    assert.equal(error.code, code);
    assert.equal(error.status, 429);
    assert.equal(error.message, message);
    assert.equal(error.retryAfterMs, retryAfterMs);
    assert.deepEqual(error.headers, [
      [`x-ratelimit-limit-${line.unit}`, String(line.limit)],
      [`x-ratelimit-remaining-${line.unit}`, '7'],
      [`x-ratelimit-reset-${line.unit}`, reset],
    ]);
    await finishOf(b, ctx, { kind: 'failed' });
    assert.deepEqual(b.store.settled, []);
    assert.deepEqual(b.seen, [line === sliding ? 'denied tokens_per_minute' : 'denied requests_per_day']);
  }
});

test('a request above the limit by itself is not told to come back', async () => {
  const b = bench();
  const line: LimitLine = { scope: 'tenant', unit: 'tokens', window: { kind: 'sliding', seconds: 60 }, limit: 100 };
  b.store.admitWith = () =>
    Promise.resolve({ kind: 'denied', by: { line, remaining: 100, resetMs: 0 }, limits: [], retryAfterMs: 60_000 });
  const error = await refusal(runOf(b, context()));
  assert.equal(error.retryAfterMs, null);
  assert.match(error.message, /alone is above the limit/);
});

test('of a refused request only what an attempt did is written, with nothing taken', async () => {
  const b = bench();
  const line: LimitLine = { scope: 'tenant', unit: 'requests', window: { kind: 'sliding', seconds: 60 }, limit: 1 };
  b.store.admitWith = () =>
    Promise.resolve({ kind: 'denied', by: { line, remaining: 0, resetMs: 1 }, limits: [], retryAfterMs: 1 });
  const ctx = context();
  await refusal(runOf(b, ctx));
  await finishOf(b, ctx, { kind: 'failed', events: [{ attempt: 0 } as LedgerEvent] });
  assert.equal(b.store.settled.length, 0);
  const again = context();
  await refusal(runOf(b, again));
  const event = { attempt: 1 } as LedgerEvent;
  await finishOf(b, again, { kind: 'failed', events: [event] });
  assert.deepEqual(b.store.settled[0]?.actual, { requests: 0, tokens: 0, spend: 0 });
  assert.deepEqual(b.store.settled[0]?.events, [event]);
});

test('a store that lost what it held is not believed, unless that is wished', async () => {
  const b = bench();
  b.stateLost = 'lost';
  const error = await refusal(runOf(b, context()));
  assert.deepEqual([error.code, error.status, error.retryAfterMs], ['state_lost', 503, 30_000]);
  assert.equal(b.store.settled.length, 0);
  assert.equal((await refusal(runOf(b, context({ onStateLost: 'auto' })))).code, 'state_lost');
  assert.equal((await runOf(b, context({ onStateLost: 'continue' }))).decision, 'held');
  // One that keeps nothing loses it at every restart.
  b.stateLost = 'expected';
  assert.equal((await refusal(runOf(b, context({ onStateLost: 'deny' })))).code, 'state_lost');
  assert.equal((await runOf(b, context({ onStateLost: 'auto' }))).decision, 'held');
  b.stateLost = 'kept';
  assert.equal((await runOf(b, context())).decision, 'held');
});

test('a settlement waits for the record of its request, the slot does not', async () => {
  let record = (): void => {};
  const b = bench({ recorded: () => new Promise<void>((resolve) => (record = resolve)) });
  const deployments = [deployment('m@b', { limit: 1, queue: 0 })];
  const [first, second] = [context({ deployments }), context({ deployments })];
  await runOf(b, first);
  await placeOf(b, first);
  const finishing = finishOf(b, first);
  await turn();
  assert.equal(b.store.settled.length, 0);
  await runOf(b, second);
  await placeOf(b, second);
  record();
  await finishing;
  assert.equal(b.store.settled.length, 1);
});

test('without a store the rule of the route decides', async () => {
  for (const rule of ['deny', 'allow'] as const) {
    const b = bench();
    b.store.admitWith = () => Promise.reject(new StoreUnavailable('breaker open'));
    const ctx = context({ onStoreError: rule });
    assert.deepEqual(await runOf(b, ctx), { decision: 'unbooked', reason: 'breaker open' });
    if (rule === 'deny') {
      const error = await refusal(placeOf(b, ctx));
      assert.deepEqual([error.code, error.status, error.retryAfterMs], ['store_unavailable', 503, 1000]);
    } else assert.equal((await placeOf(b, ctx))?.decision, 'unbooked');
    await finishOf(b, ctx);
    assert.deepEqual(b.store.settled[0]?.actual, { requests: 1, tokens: 15, spend: 0 });
  }
  const b = bench();
  b.store.admitWith = () => Promise.reject(new TypeError('a bug'));
  const ctx = context();
  await assert.rejects(runOf(b, ctx), TypeError);
  await finishOf(b, ctx, { kind: 'failed' });
  assert.deepEqual(b.store.settled[0]?.actual, { requests: 0, tokens: 0, spend: 0 });
});

test('settles once, with what was used', async () => {
  const attempts = [{ attempt: 1 }];
  const cases = [
    [{}, 15],
    [{ kind: 'cut', by: 'client', attempts }, 15],
    [{ kind: 'cut', by: 'client' }, 0],
    [{ kind: 'failed', attempts }, 15],
    [{ kind: 'failed' }, 0],
  ] as const;
  for (const [over, tokens] of cases) {
    const b = bench();
    const ctx = context();
    await runOf(b, ctx);
    await finishOf(b, ctx, over);
    await finishOf(b, ctx, over);
    assert.equal(b.store.settled.length, 1);
    // What we refused, or what never reached a model, leaves every counter as it was.
    assert.deepEqual(b.store.settled[0]?.actual, { requests: tokens === 0 ? 0 : 1, tokens, spend: 0 });
  }
});

test('finishing never throws, counts what is late and settles nothing for the unknown', async () => {
  const b = bench();
  const ctx = context();
  await runOf(b, ctx);
  b.store.settleWith = () => Promise.reject(new Error('no'));
  await finishOf(b, ctx);
  const late = context();
  await runOf(b, late);
  b.store.settleWith = () => Promise.resolve('late');
  await finishOf(b, late);
  assert.deepEqual(b.seen, ['settle_failed', 'a request could not be settled', 'late_settlement']);
  const count = b.store.settled.length;
  await b.schedule.station.finish?.({ operation: newRequestId(0) } as never, ending({ events: [{} as LedgerEvent] }));
  assert.equal(b.store.settled.length, count);
});

test('a client that leaves while the reservation is on its way leaves none behind', async () => {
  const b = bench();
  let arrive: ((result: AdmitResult) => void) | null = null as ((result: AdmitResult) => void) | null;
  b.store.admitWith = () => new Promise((resolve) => (arrive = resolve));
  const ctx = context();
  const running = runOf(b, ctx);
  const finishing = finishOf(b, ctx, { kind: 'cut', by: 'client' });
  await turn();
  assert.equal(b.store.settled.length, 0);
  arrive?.({ kind: 'held', limits: [] });
  await Promise.all([running, finishing]);
  assert.deepEqual(b.store.settled[0]?.actual, { requests: 0, tokens: 0, spend: 0 });
  assert.equal((await refusal(placeOf(b, ctx))).code, 'request_timeout');
  await assert.rejects(runOf(b, ctx));
});

test('leases are renewed by thirds on one timer until the end', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
  const b = bench();
  const [one, two] = [context(), context()];
  await runOf(b, one);
  t.mock.timers.tick(150);
  await runOf(b, two);
  t.mock.timers.tick(150);
  assert.deepEqual(b.store.renewed, [one.operation, two.operation]);
  await turn();
  await finishOf(b, one);
  b.store.renewWith = () => Promise.reject(new StoreUnavailable('gone'));
  t.mock.timers.tick(300);
  await turn();
  b.store.renewWith = () => Promise.resolve(false);
  t.mock.timers.tick(300);
  await turn();
  t.mock.timers.tick(3000);
  assert.deepEqual(b.store.renewed.slice(2), [two.operation, two.operation]);
  assert.deepEqual(b.seen, ['lease_lost']);
  await finishOf(b, two);
});

test('a job whose sender is gone is not settled: it is begun anew; one that was answered, or ended otherwise, is', async () => {
  const job = { id: 'job_1', operation: '0-op' };
  for (const [principal, over, settled] of [
    [{ job }, { kind: 'cut', by: 'client', status: 0 }, 0],
    [{ job }, { kind: 'cut', by: 'shutdown', status: 200 }, 0],
    [{ job }, { kind: 'cut', by: 'upstream', status: 0 }, 1],
    [{ job }, {}, 1],
    [{}, { kind: 'cut', by: 'client', status: 0 }, 1],
    [{}, { kind: 'cut', by: 'shutdown', status: 200 }, 1],
  ] as const) {
    const b = bench();
    const ctx = context({ principal });
    await runOf(b, ctx);
    await finishOf(b, ctx, over);
    assert.equal(b.store.settled.length, settled, JSON.stringify([principal, over]));
  }
});

test('a run of a job that is put back takes nothing of its tenant, even when it reached a model', async () => {
  const failed = { kind: 'failed', attempts: [{}] };
  for (const [principal, status, requests] of [
    [{ job: { id: 'job_1', operation: '0-op' } }, 503, 0],
    [{ job: { id: 'job_1', operation: '0-op' } }, 429, 0],
    [{ job: { id: 'job_1', operation: '0-op' } }, 502, 1],
    [{}, 503, 1],
  ] as const) {
    const b = bench();
    const ctx = context({ principal });
    await runOf(b, ctx);
    await finishOf(b, ctx, { ...failed, status });
    assert.equal(b.store.settled[0]?.actual.requests, requests, `${status}`);
  }
});

test('two runs of one job at the same time hold a slot each, and give both back', async () => {
  const b = bench();
  const deployments = [deployment('m@b', { limit: 2, queue: 0 })];
  const principal = { job: { id: 'job_1', operation: '0-op' } };
  const asked = () => Object.assign(context({ deployments, principal }), { operation: '0-op' as OperationId });
  const runs = [asked(), asked()];
  for (const ctx of runs) await runOf(b, ctx).then(() => placeOf(b, ctx));
  for (const ctx of runs) await finishOf(b, ctx);
  assert.equal(b.seen.at(-1), 'm@b runs 0');
});

test('a run of a job has a place among those that run, under an operation of its own, and gives it back however it ends', async () => {
  const principal = { job: { id: 'job_1', operation: '0-op' } };
  const limits = [
    { unit: 'requests', window: { kind: 'concurrent' }, limit: 1, per: 'tenant' },
    { unit: 'requests', window: { kind: 'sliding', seconds: 60 }, limit: 5, per: 'tenant' },
  ];
  for (const over of [{}, { kind: 'cut', by: 'client', status: 0 }]) {
    const b = bench();
    const ctx = Object.assign(context({ principal, limits }), { operation: '0-op' as OperationId });
    await runOf(b, ctx);
    assert.deepEqual(
      b.store.admitted.map(({ operation, lines, onExpiry }) => [
        operation,
        lines.map(({ window }) => window.kind),
        onExpiry === null,
      ]),
      [
        [ctx.id, ['concurrent'], true],
        ['0-op', ['sliding'], false],
      ],
    );
    await finishOf(b, ctx, over);
    const place = b.store.settled.filter(({ operation }) => operation === (ctx.id as string));
    assert.deepEqual(
      place.map(({ actual }) => actual.requests),
      [0],
    );
  }
  const full = bench();
  const ctx = Object.assign(context({ principal, limits }), { operation: '0-op' as OperationId });
  full.store.admitWith = async ({ lines }) => ({
    kind: 'denied',
    by: { line: lines[0] as LimitLine, remaining: 0, resetMs: 1 },
    retryAfterMs: 1,
    limits: [],
  });
  assert.equal((await refusal(runOf(full, ctx))).status, 429);
  assert.equal(full.store.admitted.length, 1);
});
