/** `RateShareStore` in Redis does what the one in memory does, and forgets what nobody asks for. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as fc from 'fast-check';
import { Redis } from 'ioredis';
import { RATE_SHARE_TIMES, type RateShareStore } from '../../src/core/ports/rate-shares.ts';
import { StoreUnavailable } from '../../src/core/ports/quota-store.ts';
import { createMemoryRateShares } from '../support/memory-rate-shares.ts';
import type { Stores } from '../../src/store/stores.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { openStores, scriptsWithClock } from './redis-harness.ts';

let server: RedisServer;
let client: Redis;
let stores: Stores;
before(async () => {
  server = await startRedis();
  client = new Redis(server.url);
  await client.set('test:clock', '1000000');
  stores = await openStores(server.url, { sources: scriptsWithClock() });
});
after(async () => {
  await stores.close();
  client.disconnect();
  await server.stop();
});

const step = fc.record({
  ms: fc.constantFrom(0, 100, 500, 1000, 2600, 6000),
  holder: fc.constantFrom('a', 'b', 'c'),
  does: fc.constantFrom('renew', 'renew', 'renew', 'renew', 'leave'),
  demand: fc.double({ min: 0, max: 1500, noNaN: true }),
  rate: fc.constantFrom(1000, 1000, 1000, 400, 0.37),
});

test('the script gives what the arithmetic in memory gives', async () => {
  let [runs, now] = [0, 1_000_000];
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30, size: 'max' }), async (script) => {
      runs += 1;
      const memory = createMemoryRateShares({ clock: { time: () => now } });
      const held = new Map<string, number>();
      const ask = async (store: RateShareStore | null, holder: string, wish: { demand: number; rate: number }) =>
        store?.renew(holder, [
          { name: `one ${runs}`, held: held.get(holder) ?? 0, ...wish },
          { name: `two ${runs}`, held: 0, rate: 10, demand: 5 },
        ]);
      for (const { ms, holder, does, demand, rate } of script) {
        now += ms;
        await client.set('test:clock', String(now));
        if (does === 'leave') {
          for (const store of [memory, stores.rateShares]) await store?.leave(holder, [`one ${runs}`]);
          held.delete(holder);
          continue;
        }
        const [expected, given] = [
          await ask(memory, holder, { demand, rate }),
          await ask(stores.rateShares, holder, { demand, rate }),
        ];
        assert.deepEqual(given, expected);
        held.set(holder, given?.[0] ?? 0);
      }
    }),
    { numRuns: 60 },
  );
});

test('holders that are gone leave nothing behind, and tables end by themselves', async () => {
  const name = 'm"ä@b tokens';
  const wish = { name, rate: 100, demand: 100, held: 0 };
  await stores.rateShares?.renew('x', [wish]);
  await stores.rateShares?.renew('y', [wish]);
  const [key = ''] = await client.keys('tl:{~}:rate:m%*');
  assert.ok((await client.pttl(key)) > 0);
  assert.equal(Object.keys(await client.hgetall(key)).length, 4);
  const since = Number(await client.get('test:clock'));
  for (const at of [since + 2000, since + 4000, since + RATE_SHARE_TIMES.keepMs]) {
    await client.set('test:clock', String(at));
    await stores.rateShares?.renew('x', [wish]);
  }
  assert.deepEqual(Object.keys(await client.hgetall(key)).toSorted(), ['m:x', 'seen', 'since']);
  await stores.rateShares?.leave('x', [name]);
  assert.deepEqual(Object.keys(await client.hgetall(key)).toSorted(), ['seen', 'since']);
});

test('a store that is gone is said to be', async () => {
  const lost = await openStores(server.url);
  await lost.close();
  await assert.rejects(
    async () => lost.rateShares?.renew('x', [{ name: 'n', rate: 1, demand: 1, held: 0 }]),
    StoreUnavailable,
  );
});
