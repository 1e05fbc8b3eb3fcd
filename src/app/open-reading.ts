import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Redis, Snapshot } from '../core/snapshot.ts';
import type { Stores } from '../store/stores.ts';
import { redisPlace } from '../store/redis/redis-place.ts';
import { createRedisStores } from '../store/redis/redis-stores.ts';
import { silentLog, silentMetrics } from '../telemetry/silent.ts';
import { load } from './load.ts';
import { localRedis } from './local-redis.ts';
import { StartupError } from './startup-error.ts';

/** The stores of a running server, and its configuration. */
export type Reading = Stores & { readonly snapshot: Snapshot };

export const NO_REDIS =
  'no Redis to read from: set redis.url in the configuration, or name the --state of `tokenlat up`';

/** Opens the stores of a running server for a command. Throws `StartupError`. */
export async function openReading(path: string, stateDir: string): Promise<Reading> {
  const { snapshot } = load(path);
  const redis = snapshot.redis ?? localRedis() ?? redisOf(stateDir);
  if (redis === null) {
    throw new StartupError(NO_REDIS);
  }
  const holdEvents = (): number => snapshot.ledger.sink?.keepUnsent ?? 0;
  const ledger = { ...snapshot.ledger, holdEvents };
  const stores = createRedisStores({ redis, ledger, log: silentLog, metrics: silentMetrics });
  if (!(await stores.ready(2000))) {
    await stores.close();
    throw new StartupError(`Redis does not answer at ${redisPlace(redis)}`);
  }
  return { ...stores, snapshot };
}

/** The Redis that a running `tokenlat up` has started; null when there is none. */
export function redisOf(stateDir: string): Redis | null {
  const socket = resolve(join(stateDir, 'redis', 'redis.sock'));
  if (!existsSync(socket)) return null;
  return { url: `unix://${socket}`, sentinel: null, cluster: null, commandTimeoutMs: 1000, keyPrefix: 'tl:' };
}
