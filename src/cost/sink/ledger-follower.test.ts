import type { LedgerEntry } from '../../core/ports/quota-store.ts';
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import * as fc from 'fast-check';
import { Redis } from 'ioredis';
import { type RedisServer, startRedis } from '../../../test/support/redis-server.ts';
import type { SinkPosition, SinkPositionStore } from '../../core/ports/sink-positions.ts';
import type { Log } from '../../core/ports/telemetry.ts';
import { createRedisSinkPositions } from '../../store/redis/sink-positions.ts';
import { ledgerEvent, readerOf } from '../cost-kit.test.ts';
import { type Fault, type FakeClickHouse, startFakeClickHouse } from './clickhouse-kit.test.ts';
import { createClickHouseSink } from './clickhouse-sink.ts';
import type { LedgerFollowerOptions } from './follower-options.ts';
import { createLedgerFollower, type LedgerFollower } from './ledger-follower.ts';
import { SinkError } from './ledger-sink.ts';
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
    number: from + at + 1,
    event: ledgerEvent({ tenant, operation: `${tenant}-${from + at}`, time: T0 + from + at }),
  }));

const redisPositions = (): SinkPositionStore =>
  createRedisSinkPositions({ client, call: (work) => work(), prefix: 'tl:' });
const place = (): string => createClickHouseSink({ url: fake.url, ...LOGIN }).place;
const at = (id: string, number: number | null = null): SinkPosition => ({ id, number });

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
  assert.deepEqual(first.state(), {
    lagMs: 0,
    lagEvents: 0,
    delivered: 28,
    failures: 0,
    lastError: null,
    lastErrorAt: null,
    cut: 0,
  });
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
  const forgetful: SinkPositionStore = {
    load: async () => ({ turn: 0, tenants: new Map() }),
    save: async () => true,
    rewind: async () => {},
  };
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
  assert.ok(performance.now() - began < 2000);
  const { tenants } = await redisPositions().load(place());
  assert.deepEqual([...tenants], [['acme', at(`${T0 + 1}-0`, 2)]]);
});

test('a ledger that begins after the position is told of', async () => {
  const ledger = { acme: entries('acme', 3) };
  await followerOf(ledger).pass();
  ledger.acme.push(...entries('acme', 3, 3));
  const whole = followerOf(ledger);
  await whole.pass();
  assert.equal(whole.state().cut, 0);
  ledger.acme = entries('acme', 2, 50);
  said.length = 0;
  const cut = followerOf(ledger);
  await cut.pass();
  assert.equal(cut.state().cut, 44);
  assert.match(said.join(), /were dropped/);
  // Entries of older versions have no numbers: then it is told that some may be missing.
  ledger.acme = entries('acme', 2, 90).map(({ id, event }) => ({ id, event }));
  const unnumbered = followerOf(ledger);
  await unnumbered.pass();
  assert.equal(unnumbered.state().cut, 1);
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

test('positions of any tenants come back from Redis, with an end to their time', async () => {
  const positions = redisPositions();
  assert.deepEqual(await positions.load('s'), { turn: 0, tenants: new Map() });
  assert.equal(await positions.save('s', 0, new Map()), true);
  const some = new Map([
    ['a', at('1-0', 1)],
    ['__proto__', at('2-0')],
    ['turn', at('2-1')],
    ['', at('3-0', 9_007_199_254_740_991)],
    ['a\ud800', at('4-0')],
    ['a\ud801', at('5-0')],
    ['ü', at('6-0')],
  ]);
  await positions.save('s', 0, some);
  assert.deepEqual(await positions.load('s'), { turn: 0, tenants: some });
  assert.deepEqual((await positions.load('other')).tenants, new Map());
  for (const key of await client.keys('*')) assert.ok((await client.pttl(key)) > 0, key);
});

test('a replay sends again from where it says, though a write is under way', async () => {
  const ledger = { acme: entries('acme', 10), other: entries('other', 3) };
  const positions = redisPositions();
  const sink = createClickHouseSink({ url: fake.url, ...LOGIN });
  let rewound = false;
  const follower = followerOf(ledger, {
    sink: {
      ...sink,
      write: async (batch, signal) => {
        await sink.write(batch, signal);
        if (rewound) return;
        rewound = true;
        await positions.rewind(
          place(),
          new Map([
            ['acme', at(`${T0 + 6}-0`)],
            ['other', null],
          ]),
        );
      },
    },
  });
  assert.equal(await follower.pass(), 13);
  assert.equal(await follower.pass(), 3 + 3);
  assert.equal(await follower.pass(), 0);
  assert.deepEqual(delivered(), operations(ledger));
  assert.equal(follower.state().cut, 0);
});

test('a table that is lost is made anew', async () => {
  const ledger = { acme: entries('acme', 1) };
  const follower = followerOf(ledger);
  await follower.pass();
  fake.forget();
  ledger.acme.push(...entries('acme', 1, 1));
  await follower.pass();
  assert.deepEqual(delivered(), ['acme-1']);
});

test('trouble is told once, and its end', async () => {
  const lines: string[] = [];
  const told: Log = {
    debug() {},
    info: (text) => lines.push(text),
    warn: (text) => lines.push(text),
    error: (text) => lines.push(`! ${text}`),
  };
  const sink = createClickHouseSink({ url: fake.url, ...LOGIN });
  const reasons = [...Array<boolean>(4).fill(true), ...Array<boolean>(3).fill(false)];
  const follower = followerOf(
    { acme: entries('acme', 1) },
    {
      log: told,
      sink: {
        ...sink,
        write: async (batch, signal) => {
          const passing = reasons.shift();
          if (passing !== undefined) throw new SinkError('no', { passing });
          await sink.write(batch, signal);
        },
      },
    },
  );
  await follower.pass();
  assert.deepEqual(lines, [
    'the ledger sink is behind',
    '! the ledger sink is behind',
    'the ledger sink is well again',
  ]);
  assert.equal(follower.state().lastErrorAt, T0 + 60_000);
});

test('lag is measured in entries and by the oldest of them', async () => {
  const ledger = { acme: entries('acme', 5), late: entries('late', 4, 30_000) };
  const follower = followerOf(ledger);
  await follower.measure();
  assert.deepEqual([follower.state().lagEvents, follower.state().lagMs], [9 + 30_000, 60_000]);
  await follower.pass();
  ledger.acme.push(...entries('acme', 2, 40_000));
  await follower.measure();
  assert.deepEqual([follower.state().lagEvents, follower.state().lagMs], [40_002 - 5, 20_000]);
});

test('the ledger is let go of behind what was sent, and of nothing else', async () => {
  const ledger = { acme: entries('acme', 25) };
  const trimmed: string[] = [];
  const follower = followerOf(ledger, {
    batch: 10,
    trimmer: {
      trim: async (tenant, id) => {
        trimmed.push(`${tenant} ${id}`);
        throw new Error('away');
      },
    },
  });
  await follower.pass();
  assert.deepEqual(
    trimmed,
    [9, 19, 24].map((n) => `acme ${T0 + n}-0`),
  );
});

test('ids of a stream are ordered as numbers', () => {
  assert.equal(bookedAt('1700000000000-3'), 1_700_000_000_000);
  assert.equal(bookedAt('x'), null);
  assert.ok(isLater('10-0', '9-5') && isLater('10-10', '10-9'));
  assert.ok(!isLater('9-5', '10-0') && !isLater('10-9', '10-9') && !isLater('x', '1-0') && !isLater('1-0', ''));
});
