import { systemClock } from '../core/ports/clock.ts';
import type { OnExpired } from '../core/ports/quota-store.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { createMemoryStores } from '../store/memory/memory-stores.ts';
import { createRedisStores } from '../store/redis/redis-stores.ts';
import type { Stores } from '../store/stores.ts';
import { localRedis } from './local-redis.ts';

/** The stores that a configuration asks for: Redis, the one that `tokenlat up` started, or this process's memory. */
export function openStores(config: () => Snapshot, log: Log, metrics: Metrics, onExpired?: OnExpired): Stores {
  const { ledger, redis } = config();
  const used = redis ?? localRedis();
  if (used === null) return createMemoryStores({ clock: systemClock, ledger, onExpired });
  // With a sink, what was not sent stays up to a bound; the sink's follower trims behind itself.
  const holdEvents = (): number => config().ledger.sink?.keepUnsent ?? 0;
  return createRedisStores({ redis: used, ledger: { ...ledger, holdEvents }, log, metrics, onExpired });
}
