import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StoreUnavailable } from '../core/ports/quota-store.ts';
import type { LedgerSinkSettings } from '../core/snapshot.ts';
import { sinkPlace } from '../cost/sink/open-sink.ts';
import { ledgerEvent, readerOf } from '../cost/cost-kit.test.ts';
import { createMemorySinkPositions } from '../store/memory/sink-positions.ts';
import type { Stores } from '../store/stores.ts';
import { createReadSink } from './read-sink.ts';

const SINK: LedgerSinkSettings = {
  kind: 'clickhouse',
  url: 'http://clickhouse.test:8123',
  database: 'd',
  table: 't',
  user: null,
  password: null,
  createTable: true,
  engine: 'ReplacingMergeTree',
  ttlDays: null,
  ca: null,
  batch: 100,
  intervalMs: 5000,
  timeoutMs: 1000,
  keepUnsent: 1000,
  allowLinkLocal: false,
};
const BOOKED = 1_700_000_000_000;

function world() {
  const at = { now: 0, time: BOOKED };
  const state = { away: false, asked: 0 };
  const positions = createMemorySinkPositions();
  const acme = [1, 2, 3].map((number) => ({ id: `${BOOKED}-${number}`, number, event: ledgerEvent({}) }));
  const reader = readerOf({ acme });
  const ledger: Stores['ledger'] = {
    ...reader,
    tenants: async () => {
      state.asked += 1;
      if (state.away) throw new StoreUnavailable('away');
      return await reader.tenants();
    },
    trim: async () => {},
  };
  const read = createReadSink({
    stores: { ledger, positions },
    clock: { now: () => at.now, time: () => at.time },
  });
  return { at, state, positions, read };
}

test('no sink, no standing', async () => {
  const { read, state } = world();
  assert.equal(await read(null), null);
  assert.equal(state.asked, 0);
});

test('what the sink lacks counts, and a long wait is told', async () => {
  const { read, at, positions } = world();
  at.time += 1000;
  assert.deepEqual(await read(SINK), { state: 'ok', lagEvents: 3, lagMs: 1000 });
  await positions.save(sinkPlace(SINK), 0, new Map([['acme', { id: `${BOOKED}-2`, number: 2 }]]));
  at.now += 2000;
  at.time = BOOKED + 30_001;
  assert.deepEqual(await read(SINK), { state: 'behind', lagEvents: 1, lagMs: 30_001 });
});

test('who polls does not make the store count each time, and a store that is away is no failure', async () => {
  const { read, at, state } = world();
  await Promise.all([read(SINK), read(SINK)]);
  at.now = 1999;
  await read(SINK);
  assert.equal(state.asked, 1);
  at.now = 2000;
  state.away = true;
  assert.deepEqual(await read(SINK), { state: 'unknown', lagEvents: null, lagMs: null });
  at.now = 4000;
  state.away = false;
  assert.equal((await read(SINK))?.state, 'ok');
});
