import { systemClock } from '../../core/ports/clock.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import type { Snapshot } from '../../core/snapshot.ts';
import { createSettlementSpool } from '../settlement-spool.ts';
import type { Stores } from '../stores.ts';
import { connectRedis } from './connection.ts';
import type { RedisClient, RedisConfig } from './connection.ts';
import { readDurability } from './durability.ts';
import { createKeys } from './keys.ts';
import { createRedisLedgerReader } from './ledger-reader.ts';
import { createRedisQuotaStore, LEDGER_TTL_MS } from './quota-store.ts';
import { createScriptRunner, readScripts } from './script-runner.ts';
import type { ScriptSources } from './script-runner.ts';
import { createStoreBreaker } from './store-breaker.ts';
import type { StoreBreaker } from './store-breaker.ts';
import { createRedisTraceStore } from './trace-store.ts';
import { createTenantIndex } from './tenant-index.ts';
import { createWritePacer } from './write-pacer.ts';

export interface RedisStoresOptions {
  readonly redis: RedisConfig;
  readonly ledger: Pick<Snapshot['ledger'], 'leaseMs' | 'maxEvents' | 'keepMs'>;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'anomaly' | 'storeState'>;
  readonly clock?: Clock;
  readonly sources?: ScriptSources;
}

/** All stores over one connection. Starts `down` and connects in the background: `await stores.ready(ms)` before serving. */
export function createRedisStores({
  redis,
  ledger,
  log,
  metrics,
  clock = systemClock,
  sources = readScripts(),
}: RedisStoresOptions): Stores {
  const keys = createKeys({ prefix: redis.keyPrefix });
  const client = connectRedis({ redis, onError: (error) => log.debug('store connection', { error }) });
  const breaker = createStoreBreaker({
    // A write: a server that answers but takes no writes is as good as gone.
    probe: () => client.set(keys.probe, '1', 'PX', 1000),
    reconnect: () => client.disconnect(true),
    deadlineMs: redis.commandTimeoutMs,
    log,
    metrics,
  });
  watch(client, breaker);
  const run = createScriptRunner({ client, sources, pacer: createWritePacer(client) });
  const tenants = createTenantIndex({ run, keys, clock, leaseMs: ledger.leaseMs, keepMs: LEDGER_TTL_MS });
  const spool = createSettlementSpool({
    quota: createRedisQuotaStore({ run, keys, call: breaker.call, tenants, ledger }),
    log,
    metrics,
  });

  return {
    quota: spool.quota,
    ledger: createRedisLedgerReader({ client, keys, call: breaker.call }),
    traces: createRedisTraceStore({ client, run, keys, breaker, metrics }),
    durability: () => breaker.call(() => readDurability(client)),
    state: breaker.state,
    ready: breaker.ready,
    flush: spool.flush,
    close: async () => {
      spool.close();
      breaker.close();
      client.disconnect();
    },
  };
}

function watch(client: RedisClient, breaker: StoreBreaker): void {
  client.on('ready', () => breaker.hint());
  client.on('close', () => breaker.trip('connection closed'));
}
