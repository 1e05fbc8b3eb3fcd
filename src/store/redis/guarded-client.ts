import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import { connectRedis } from './connection.ts';
import type { RedisClient, RedisConfig } from './connection.ts';
import { redisPlace } from './redis-place.ts';
import { createStoreBreaker } from './store-breaker.ts';
import type { StoreBreaker } from './store-breaker.ts';

export interface GuardedClientOptions {
  readonly redis: RedisConfig;
  /** Key that probes write. */
  readonly probeKey: string;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'storeState'>;
}

/** A connection and the breaker in front of it, whose `ready` also tells in the log that nobody answered, where and why. */
export function createGuardedClient({ redis, probeKey, log, metrics }: GuardedClientOptions): {
  readonly client: RedisClient;
  readonly breaker: StoreBreaker;
} {
  let fault: string | null = null;
  let isClosed = false;
  const client = connectRedis({
    redis,
    onError: (error: NodeJS.ErrnoException) => {
      fault = error.code ?? error.message;
      log.debug('store connection', { error });
    },
  });
  const breaker = createStoreBreaker({
    // A write: a server that answers but takes no writes is as good as gone.
    probe: () => client.set(probeKey, '1', 'PX', 1000),
    reconnect: () => client.disconnect(true),
    deadlineMs: redis.commandTimeoutMs,
    log,
    metrics,
  });
  client.on('ready', () => breaker.hint());
  client.on('close', () => breaker.trip('connection closed'));
  return {
    client,
    breaker: {
      ...breaker,
      ready: async (deadlineMs) => {
        const isUp = await breaker.ready(deadlineMs);
        if (!isUp && !isClosed) log.warn(silentText(redis, fault));
        return isUp;
      },
      close: () => {
        isClosed = true;
        breaker.close();
      },
    },
  };
}

function silentText(redis: RedisConfig, fault: string | null): string {
  const why = fault === null ? '' : ` (${fault})`;
  return `Redis does not answer at ${redisPlace(redis)}${why}: until it does, on_store_error of the ledger and of each route holds (deny unless set)`;
}
