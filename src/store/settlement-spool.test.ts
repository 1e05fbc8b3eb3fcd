import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newRequestId, operationOf } from '../core/ids.ts';
import { StoreUnavailable } from '../core/ports/quota-store.ts';
import type { QuotaStore } from '../core/ports/quota-store.ts';
import { createMemoryQuotaStore } from './memory/quota-store.ts';
import { createSettlementSpool } from './settlement-spool.ts';
import { StoreRefused } from './store-refused.ts';

type Mode = 'up' | 'down' | 'lost answers' | 'refuses';

function setUp(options: { readonly maxBytes?: number; readonly retryMs?: number } = {}) {
  const { quota, ledger } = createMemoryQuotaStore({
    clock: { now: () => 0, time: () => 0 },
    ledger: { maxEvents: 1000, keepMs: 1000 },
  });
  const state = { mode: 'up' as Mode, order: [] as string[], lost: [] as unknown[], anomalies: [] as string[] };
  const flaky: QuotaStore = {
    ...quota,
    settle: async (settlement) => {
      if (state.mode === 'down') throw new StoreUnavailable('down');
      if (state.mode === 'refuses') throw new StoreRefused('WRONGTYPE');
      const result = await quota.settle(settlement);
      state.order.push(settlement.operation);
      if (state.mode === 'lost answers') throw new StoreUnavailable('no answer');
      return result;
    },
  };
  const spool = createSettlementSpool({
    quota: flaky,
    log: { error: (_, fields) => void state.lost.push(fields?.['settlement']) },
    metrics: { anomaly: (kind) => void state.anomalies.push(kind) },
    retryMs: 10,
    ...options,
  });
  return { spool, state, ledger, quota };
}

const settlement = () => ({
  operation: operationOf(newRequestId(0)),
  tenant: 'acme',
  actual: { requests: 1, tokens: 5 },
  events: [],
});

test('passes settlements through while the store is there', async () => {
  const { spool, state } = setUp();
  const one = settlement();
  assert.equal(await spool.quota.settle(one), 'settled');
  assert.equal(await spool.quota.settle(one), 'repeated');
  assert.deepEqual([spool.size(), state.anomalies], [0, []]);
});

test('keeps them while it is gone and writes them in order when it is back', async () => {
  const { spool, state } = setUp();
  state.mode = 'down';
  const all = Array.from({ length: 50 }, settlement);
  for (const one of all) assert.equal(await spool.quota.settle(one), 'settled');
  assert.equal(spool.size(), 50);
  assert.equal(await spool.flush(30), 50);
  state.mode = 'up';
  const last = settlement();
  await spool.quota.settle(last);
  assert.equal(await spool.flush(1000), 0);
  assert.deepEqual(
    state.order,
    [...all, last].map(({ operation }) => operation),
  );
});

test('retries by itself', async () => {
  const { spool, state } = setUp();
  state.mode = 'down';
  await spool.quota.settle(settlement());
  state.mode = 'up';
  for (let i = 0; i < 100 && spool.size() > 0; i += 1) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(spool.size(), 0);
});

test('a settlement that ran, but whose answer was lost, is written once', async () => {
  const { spool, state, quota } = setUp();
  state.mode = 'lost answers';
  const one = settlement();
  await spool.quota.settle(one);
  state.mode = 'up';
  assert.equal(await spool.flush(1000), 0);
  assert.equal(state.order.length, 2);
  assert.equal(await quota.settle(one), 'repeated');
});

test('what does not fit is logged whole and counted', async () => {
  const { spool, state } = setUp({ maxBytes: 300 });
  state.mode = 'down';
  const all = Array.from({ length: 4 }, settlement);
  for (const one of all) await spool.quota.settle(one);
  const kept = spool.size();
  assert.ok(kept >= 1 && kept <= 3);
  assert.deepEqual(state.lost, all.slice(kept));
  assert.equal(state.anomalies.filter((kind) => kind === 'settlement_lost').length, 4 - kept);
  state.mode = 'up';
  assert.equal(await spool.flush(1000), 0);
  // Room is given back.
  state.mode = 'down';
  await spool.quota.settle(settlement());
  assert.equal(spool.size(), 1);
});

test('one that the store refuses does not hold up those behind it for ever', async () => {
  const { spool, state } = setUp();
  state.mode = 'refuses';
  const one = settlement();
  await spool.quota.settle(one);
  assert.equal(await spool.flush(1000), 0);
  assert.deepEqual(state.lost, [one]);
});

test('an invalid settlement is the caller’s fault', async () => {
  const { spool } = setUp();
  await assert.rejects(spool.quota.settle({ ...settlement(), actual: { requests: 1, tokens: 0.5 } }), RangeError);
  assert.equal(spool.size(), 0);
});

test('closing logs what is left', async () => {
  const { spool, state } = setUp();
  state.mode = 'down';
  const [one, two] = [settlement(), settlement()];
  await spool.quota.settle(one);
  spool.close();
  await spool.quota.settle(two);
  assert.deepEqual(state.lost, [one, two]);
  assert.equal(spool.size(), 0);
});
