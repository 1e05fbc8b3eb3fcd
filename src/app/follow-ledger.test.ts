import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SinkMetrics } from '../core/ports/sink-metrics.ts';
import { type Clock, systemClock } from '../core/ports/clock.ts';
import type { LedgerSinkSettings, Snapshot } from '../core/snapshot.ts';
import { entriesOf, ledgerEvent, readerOf } from '../cost/cost-kit.test.ts';
import type { LedgerSink } from '../cost/sink/ledger-sink.ts';
import { createMemoryLeaderLease } from '../store/memory/leader.ts';
import { createMemorySinkPositions } from '../store/memory/sink-positions.ts';
import { silentLog } from '../telemetry/silent.ts';
import { followLedger } from './follow-ledger.ts';
import { waitUntil } from './wait-until.ts';

const settings = (table: string): LedgerSinkSettings => ({
  kind: 'clickhouse',
  url: 'http://127.0.0.1:1',
  database: 'default',
  table,
  user: null,
  password: null,
  createTable: true,
  engine: 'ReplacingMergeTree',
  ttlDays: null,
  ca: null,
  batch: 100,
  intervalMs: 10,
  timeoutMs: 1000,
  keepUnsent: 1000,
  allowLinkLocal: false,
});

/** Replicas over one store, and what their sinks got. */
function world(events: number) {
  const numbered = entriesOf(Array.from({ length: events }, (_, at) => ledgerEvent({ operation: `op-${at}` })));
  const ledger = { acme: numbered.map((entry, at) => ({ ...entry, number: at + 1 })) };
  const positions = createMemorySinkPositions();
  const lease = createMemoryLeaderLease({ clock: systemClock });
  const got = new Map<string, string[]>();
  const fault = { on: false };
  let open = 0;
  const replica = (holder: string, config: { sink: LedgerSinkSettings | null }, clock: Clock = systemClock) => {
    const told: Record<string, number | string> = { sent: 0, cut: 0 };
    const figures: SinkMetrics = {
      sent: (count) => void (told['sent'] = Number(told['sent']) + count),
      cut: (count) => void (told['cut'] = Number(told['cut']) + count),
      state: (state) => void (told['state'] = state),
      lag: (count) => void (told['lag'] = count),
      failedAt: () => void (told['failed'] = 1),
    };
    const followed = followLedger({
      config: () => ({ ledger: { sink: config.sink } }) as Pick<Snapshot, 'ledger'>,
      stores: { ledger: { ...readerOf(ledger), trim: async () => {} }, positions, lease },
      open: ({ table }): LedgerSink => ({
        name: 'fake',
        place: table,
        prepare: async () => void (open += 1),
        write: async (entries) => {
          if (fault.on) throw new Error('away');
          got.set(table, [...(got.get(table) ?? []), ...entries.map(({ event }) => `${holder} ${event.operation}`)]);
        },
      }),
      holder,
      figures,
      clock,
      log: silentLog,
      lookMs: 10,
      measureMs: 10,
    });
    return { followed, told };
  };
  const add = (count: number): void => {
    const from = ledger.acme.length;
    for (let at = from; at < from + count; at += 1)
      ledger.acme.push({ id: `${Date.now() + at}-0`, number: at + 1, event: ledgerEvent({ operation: `op-${at}` }) });
  };
  return { replica, got, fault, add, opened: () => open };
}

const until = async (condition: () => boolean): Promise<void> =>
  assert.ok(await waitUntil(async () => condition(), { timeoutMs: 6000, everyMs: 10 }));

test('one of two replicas carries the ledger, and hands over when it closes', async () => {
  const { replica, got, add, opened } = world(3);
  const config = { sink: settings('t') };
  const first = replica('a', config);
  await until(() => got.get('t')?.length === 3);
  const second = replica('b', config);
  await sleep(600);
  assert.equal(opened(), 1);
  await until(() => first.told['sent'] === 3 && first.told['state'] === 'following');
  assert.equal(second.told['state'], undefined);
  await first.followed.close();
  assert.equal(first.told['state'], 'off');
  add(2);
  await until(() => got.get('t')?.length === 5);
  assert.deepEqual(got.get('t')?.slice(3), ['b op-3', 'b op-4']);
  await second.followed.close();
});

test('another sink of a changed configuration gets all of the ledger, and none ends the work', async () => {
  const { replica, got, add } = world(3);
  const config: { sink: LedgerSinkSettings | null } = { sink: null };
  const { followed, told } = replica('a', config);
  await sleep(100);
  assert.equal(got.size, 0);
  config.sink = settings('one');
  await until(() => got.get('one')?.length === 3);
  config.sink = settings('two');
  await until(() => got.get('two')?.length === 3);
  config.sink = null;
  await until(() => told['state'] === 'off');
  add(1);
  await sleep(100);
  assert.deepEqual([got.get('one')?.length, got.get('two')?.length], [3, 3]);
  await followed.close();
});

test('a sink that fails shows as a problem, and is left within a moment', async () => {
  const { replica, fault } = world(3);
  fault.on = true;
  const { followed, told } = replica('a', { sink: settings('t') });
  await until(() => told['state'] === 'failing' && told['lag'] === 3);
  assert.match(followed.problem() ?? '', /^is failing: 3 events wait/);
  const began = performance.now();
  await followed.close();
  assert.ok(performance.now() - began < 500);
  assert.equal(followed.problem(), null);
  assert.equal(told['failed'], 1);
});
