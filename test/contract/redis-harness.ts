import { Redis } from 'ioredis';
import type { ExpiredLease, OnExpired } from '../../src/core/ports/quota-store.ts';
import { createRedisStores } from '../../src/store/redis/redis-stores.ts';
import { readScripts } from '../../src/store/redis/script-runner.ts';
import type { ScriptSources } from '../../src/store/redis/script-runner.ts';
import type { LedgerSettings } from '../../src/store/ledger-settings.ts';
import type { Stores } from '../../src/store/stores.ts';
import { startRedis } from '../support/redis-server.ts';
import type { RedisServer } from '../support/redis-server.ts';
import { TestClock, recorder } from './quota-harness.ts';
import type { Harness, Recorded } from './quota-harness.ts';

export const LEDGER = { leaseMs: 30_000, maxEvents: 100_000, keepMs: 86_400_000 };

/** A client with the settings of a deployment; `url` of a test's server. */
export async function openStores(
  url: string,
  {
    commandTimeoutMs = 2000,
    readyMs = 5000,
    recorded = recorder(),
    clock,
    sources,
    zone = 'UTC',
    ledger = {},
    onExpired,
  }: {
    readonly commandTimeoutMs?: number;
    readonly readyMs?: number;
    readonly recorded?: Recorded;
    readonly clock?: TestClock;
    readonly sources?: ScriptSources;
    readonly zone?: string;
    readonly ledger?: Partial<LedgerSettings>;
    readonly onExpired?: OnExpired;
  } = {},
): Promise<Stores> {
  const stores = createRedisStores({
    redis: { url, sentinel: null, cluster: null, commandTimeoutMs, keyPrefix: 'tl:' },
    ledger: { ...LEDGER, zone, ...ledger },
    onExpired,
    log: recorded.log,
    metrics: recorded.metrics,
    ...(clock === undefined ? {} : { clock }),
    ...(sources === undefined ? {} : { sources }),
  });
  if (await stores.ready(readyMs)) return stores;
  await stores.close();
  throw new Error('redis did not come up');
}

/** The real scripts, except that they read the time from a key. */
export function scriptsWithClock(): ScriptSources {
  const clock = `{ math.floor(redis.call('GET', 'test:clock') / 1000), redis.call('GET', 'test:clock') % 1000 * 1000 }`;
  return Object.fromEntries(
    Object.entries(readScripts()).map(([name, text]) => [name, text.replace("redis.call('TIME')", clock)]),
  ) as ScriptSources;
}

export interface RedisHarness extends Harness {
  readonly server: RedisServer;
  /** For looking at keys from outside. */
  readonly raw: Redis;
}

export async function openRedisHarness(zone = 'UTC'): Promise<RedisHarness> {
  const server = await startRedis();
  const raw = new Redis(server.url);
  const clock = new TestClock();
  const sources = scriptsWithClock();
  const expired: ExpiredLease[] = [];
  const onExpired: OnExpired = (lease) => void expired.push(lease);
  const open = () => openStores(server.url, { clock, sources, zone, onExpired });
  const clients = [await open(), await open(), await open(), await open()] as const;
  return {
    name: 'redis',
    server,
    raw,
    clients,
    expired,
    setTime: async (ms) => {
      clock.ms = ms;
      await raw.set('test:clock', ms);
    },
    close: async () => {
      for (const client of clients) await client.close();
      raw.disconnect();
      await server.stop();
    },
  };
}
