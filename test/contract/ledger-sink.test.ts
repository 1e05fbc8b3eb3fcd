/** How ledgers in Redis are numbered, kept and let go of for a sink. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { Redis } from 'ioredis';
import { createLedgerFollower } from '../../src/cost/sink/ledger-follower.ts';
import type { LedgerSink } from '../../src/cost/sink/ledger-sink.ts';
import { measureLag } from '../../src/cost/sink/measure-lag.ts';
import { rewindSink } from '../../src/cost/sink/rewind-sink.ts';
import type { Stores } from '../../src/store/stores.ts';
import { silentLog } from '../../src/telemetry/silent.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { event, operation } from './quota-harness.ts';
import { openStores } from './redis-harness.ts';

const HELD = 1000;
let server: RedisServer;
let raw: Redis;
let stores: Stores;
before(async () => {
  server = await startRedis();
  raw = new Redis(server.url);
});
after(async () => {
  raw.disconnect();
  await server.stop();
});
beforeEach(async () => {
  await raw.flushall();
  // A client remembers for a while which tenants it has put on the list.
  stores = await openStores(server.url, { ledger: { maxEvents: 200, holdEvents: () => HELD } });
});
afterEach(() => stores.close());

async function book(tenant: string, count: number): Promise<void> {
  for (let at = 0; at < count; at += 100) {
    await Promise.all(
      Array.from({ length: Math.min(100, count - at) }, () => {
        const id = operation();
        const events = [event(id, 1, { tenant })];
        return stores.quota.settle({ operation: id, tenant, actual: { requests: 1, tokens: 1 }, events });
      }),
    );
  }
}

/** Remembers which bookings it has, as an engine does. */
function fakeSink() {
  const had = new Set<string>();
  let rows = 0;
  const sink: LedgerSink = {
    name: 'fake',
    place: 'fake',
    prepare: async () => {},
    write: async (entries) => {
      rows += entries.length;
      for (const { event: booked } of entries) had.add(`${booked.tenant} ${booked.operation}`);
    },
  };
  const follower = createLedgerFollower({
    reader: stores.ledger,
    trimmer: stores.ledger,
    positions: stores.positions,
    sink,
    batch: 150,
    log: silentLog,
  });
  return { had, follower, rows: () => rows };
}

test('entries are numbered from 1 for each tenant, and the number lives as long as the ledger', async () => {
  await book('acme', 3);
  await book('globex', 1);
  assert.deepEqual(
    (await stores.ledger.read('acme', null, 10)).map(({ number }) => number),
    [1, 2, 3],
  );
  assert.deepEqual(await stores.ledger.booked(['acme', 'globex', 'nobody']), [3, 1, 0]);
  const [ledger, count] = [await raw.pttl('tl:{acme}:ledger'), await raw.pttl('tl:{acme}:ledger:n')];
  assert.ok(ledger > 0 && Math.abs(ledger - count) < 100);
});

test('nothing goes before it is sent; what was sent goes down to max_events', async () => {
  await book('acme', 650);
  assert.equal(await raw.xlen('tl:{acme}:ledger'), 650);
  const { had, follower } = fakeSink();
  assert.equal(await follower.pass(), 650);
  assert.equal(had.size, 650);
  const left = await raw.xlen('tl:{acme}:ledger');
  // Whole nodes go, of 100 entries.
  assert.ok(left >= 200 && left < 300, `${left} are left`);
  assert.equal(follower.state().cut, 0);
  await book('acme', 10);
  assert.equal(await follower.pass(), 10);
});

test('beyond the bound the oldest go unsent, and each of them is counted', async () => {
  await book('acme', 100);
  const { had, follower } = fakeSink();
  await follower.pass();
  await book('acme', HELD + 450);
  const { events } = await measureLag(stores.ledger, (await stores.positions.load('fake')).tenants);
  assert.equal(events, HELD + 450);
  // The sink need not come back for it to show, and it is counted once.
  await follower.measure();
  const { cut } = follower.state();
  await follower.measure();
  const sent = await follower.pass();
  assert.equal(follower.state().cut, cut);
  assert.ok(cut > 0 && cut <= 450, `${cut} were cut`);
  assert.equal(sent + cut, HELD + 450);
  assert.equal(had.size, 100 + sent);
});

test('a replay sends what is there again, from a moment on or all of it', async () => {
  await book('acme', 120);
  await book('globex', 5);
  const { had, follower, rows } = fakeSink();
  await follower.pass();
  const replay = (from: number | null, tenant: string | null): Promise<number> =>
    rewindSink({ reader: stores.ledger, positions: stores.positions, place: 'fake', from, tenant });
  assert.equal(await replay(null, null), 2);
  assert.equal(await follower.pass(), 125);
  assert.equal(await replay(0, 'acme'), 1);
  assert.equal(await follower.pass(), 120);
  assert.equal(await replay(Date.now() + 3_600_000, null), 0);
  assert.equal(await follower.pass(), 0);
  assert.deepEqual([had.size, rows(), follower.state().cut], [125, 370, 0]);
});
