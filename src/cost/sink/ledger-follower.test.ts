import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import * as fc from 'fast-check';
import { Redis } from 'ioredis';
import { type RedisServer, startRedis } from '../../../test/support/redis-server.ts';
import type { Log } from '../../core/ports/telemetry.ts';
import { ledgerEvent, readerOf } from '../cost-kit.test.ts';
import type { LedgerEntry } from '../ledger-columns.ts';
import { type Fault, type FakeClickHouse, startFakeClickHouse } from './clickhouse-kit.test.ts';
import { createClickHouseSink } from './clickhouse-sink.ts';
import { createLedgerFollower, type LedgerFollower, type LedgerFollowerOptions } from './ledger-follower.ts';
import type { PositionStore } from './ledger-sink.ts';
import { createRedisPositions } from './redis-positions.ts';
import { bookedAt, isLater } from './stream-id.ts';

const LOGIN = { user: 'u', password: 'p' };
const T0 = Date.UTC(2026, 5, 1);
const TABLE = 'tokenlat_ledger';
let fake: FakeClickHouse;
let redis: RedisServer;
let client: Redis;
let open: LedgerFollower[] = [];
before(async () => {
  [fake, redis] = await Promise.all([startFakeClickHouse(LOGIN), startRedis()]);
  client = new Redis(redis.url);
});
after(async () => {
  client.disconnect();
  await Promise.all([fake.close(), redis.stop()]);
});
beforeEach(async () => {
  fake.forget();
  fake.faults.length = 0;
  await client.flushall();
});
afterEach(async () => {
  await Promise.all(open.map((follower) => follower.close()));
  open = [];
});

const said: string[] = [];
const note = (message: string): void => void said.push(message);
const log: Log = { debug: note, info: note, warn: note, error: note };

const entries = (tenant: string, count: number, from = 0): LedgerEntry[] =>
  Array.from({ length: count }, (_, at) => ({
    id: `${T0 + from + at}-0`,
    event: ledgerEvent({ tenant, operation: `${tenant}-${from + at}`, time: T0 + from + at }),
  }));

const redisPositions = (): PositionStore => createRedisPositions({ client, keyPrefix: 'tl:', sink: 'clickhouse' });

function followerOf(
  ledger: Record<string, LedgerEntry[]>,
  over: Partial<LedgerFollowerOptions> = {},
  timeoutMs = 2000,
): LedgerFollower {
  const follower = createLedgerFollower({
    reader: readerOf(ledger),
    sink: createClickHouseSink({ url: fake.url, ...LOGIN, timeoutMs }),
    positions: redisPositions(),
    log,
    clock: { now: () => 0, time: () => T0 + 60_000 },
    pollMs: 5,
    backoff: { firstMs: 1, longestMs: 4 },
    ...over,
  });
  open.push(follower);
  return follower;
}

const delivered = (): string[] =>
  fake
    .final(TABLE)
    .map((row) => String(row['operation']))
    .toSorted();
const operations = (ledger: Record<string, LedgerEntry[]>): string[] =>
  Object.values(ledger)
    .flat()
    .map(({ event }) => String(event.operation))
    .toSorted();

test('all tenants, in batches, and after a restart only what is new', async () => {
  const ledger = { acme: entries('acme', 25), 'b"\ud800': entries('b', 3), idle: [] as LedgerEntry[] };
  const first = followerOf(ledger, { batch: 10 });
  assert.equal(await first.pass(), 28);
  assert.deepEqual(delivered(), operations(ledger));
  assert.equal(fake.statements.filter((text) => text.startsWith('INSERT')).length, 3);
  assert.deepEqual(first.state(), { lagMs: 0, delivered: 28, failures: 0, lastError: null, gaps: 0 });
  await first.close();
  ledger.acme.push(...entries('acme', 2, 25));
  const second = followerOf(ledger);
  assert.equal(await second.pass(), 2);
  assert.equal(await second.pass(), 0);
  assert.equal(fake.rows(TABLE).length, 30);
});

test('whatever the engine does, each booking is there once, and its failures show', async () => {
  const kinds: Fault[] = ['unavailable', 'reset', 'applied', 'late-exception'];
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...kinds), { maxLength: 8 }),
      fc.integer({ min: 1, max: 7 }),
      fc.array(fc.nat(12), { minLength: 1, maxLength: 3 }),
      async (faults, batch, counts) => {
        fake.forget();
        await client.flushall();
        const ledger = Object.fromEntries(counts.map((count, at) => [`t${at}`, entries(`t${at}`, count)]));
        fake.faults.splice(0, Infinity, ...faults);
        const follower = followerOf(ledger, { batch });
        await follower.pass();
        // Faults that nothing met wait for a statement that never comes.
        fake.faults.length = 0;
        assert.deepEqual(delivered(), operations(ledger));
        assert.equal(follower.state().failures, 0);
      },
    ),
    { numRuns: 40 },
  );
});

test('a crash between the engine and the position sends again what is then counted once', async () => {
  const ledger = { acme: entries('acme', 5) };
  const forgetful: PositionStore = { load: async () => new Map(), save: async () => {} };
  await followerOf(ledger, { positions: forgetful }).pass();
  await followerOf(ledger, { positions: redisPositions() }).pass();
  assert.equal(fake.rows(TABLE).length, 10);
  assert.deepEqual(delivered(), operations(ledger));
});

test('lag grows while the engine is away, and is gone when it is back', async () => {
  const ledger = { acme: entries('acme', 5) };
  let now = T0 + 10_000;
  const follower = followerOf(ledger, { clock: { now: () => 0, time: () => now } }, 200);
  fake.faults.push(...Array<Fault>(3).fill('unavailable'));
  await follower.pass();
  ledger.acme.push(...entries('acme', 1, 9000));
  fake.faults.push(...Array<Fault>(10_000).fill('unavailable'));
  follower.start();
  while (follower.state().failures < 3) await wait(5);
  assert.equal(follower.state().lagMs, 1000);
  now += 60_000;
  assert.equal(follower.state().lagMs, 61_000);
  assert.match(follower.state().lastError ?? '', /503/);
  fake.faults.length = 0;
  while (follower.state().lagMs > 0) await wait(5);
  assert.deepEqual(delivered(), operations(ledger));
  assert.equal(follower.state().lastError, null);
});

test('a follower that runs picks up what comes, and stops at once', async () => {
  const ledger = { acme: entries('acme', 1) };
  const follower = followerOf(ledger);
  follower.start();
  follower.start();
  while (follower.state().delivered < 1) await wait(5);
  ledger.acme.push(...entries('acme', 1, 1));
  while (follower.state().delivered < 2) await wait(5);
  fake.faults.push('hang');
  ledger.acme.push(...entries('acme', 1, 2));
  while (fake.faults.length > 0) await wait(5);
  const began = performance.now();
  await follower.close();
  assert.ok(performance.now() - began < 500);
  assert.deepEqual([...(await redisPositions().load())], [['acme', `${T0 + 1}-0`]]);
});

test('a ledger that begins after the position is told of', async () => {
  const ledger = { acme: entries('acme', 3) };
  await followerOf(ledger).pass();
  ledger.acme.push(...entries('acme', 3, 3));
  const whole = followerOf(ledger);
  await whole.pass();
  assert.equal(whole.state().gaps, 0);
  ledger.acme = entries('acme', 2, 50);
  said.length = 0;
  const cut = followerOf(ledger);
  await cut.pass();
  assert.equal(cut.state().gaps, 1);
  assert.match(said.join(), /may have been dropped/);
});

test('no tenant waits behind the backlog of another', async () => {
  const ledger = { big: entries('big', 50), small: entries('small', 1) };
  const order: string[] = [];
  const reader = readerOf(ledger);
  const follower = followerOf(ledger, {
    batch: 10,
    reader: { ...reader, read: (tenant, ...rest) => (order.push(tenant), reader.read(tenant, ...rest)) },
  });
  await follower.pass();
  assert.equal(order[1], 'small');
  assert.deepEqual(delivered(), operations(ledger));
});

test('positions of any tenants come back from Redis', async () => {
  const positions = redisPositions();
  assert.equal((await positions.load()).size, 0);
  await positions.save(new Map());
  const some = new Map([
    ['a', '1-0'],
    ['__proto__', '2-0'],
    ['', '3-0'],
    ['a\ud800', '4-0'],
    ['a\ud801', '5-0'],
    ['ü', '6-0'],
  ]);
  await positions.save(some);
  assert.deepEqual(new Map(await positions.load()), some);
});

test('ids of a stream are ordered as numbers', () => {
  assert.equal(bookedAt('1700000000000-3'), 1_700_000_000_000);
  assert.equal(bookedAt('x'), null);
  assert.ok(isLater('10-0', '9-5') && isLater('10-10', '10-9'));
  assert.ok(!isLater('9-5', '10-0') && !isLater('10-9', '10-9') && !isLater('x', '1-0') && !isLater('1-0', ''));
});
