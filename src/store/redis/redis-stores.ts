import { systemClock } from '../../core/ports/clock.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { OnExpired } from '../../core/ports/quota-store.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import type { LedgerSettings } from '../ledger-settings.ts';
import { createSettlementSpool } from '../settlement-spool.ts';
import { createSpendReader } from '../spend-reader.ts';
import type { Stores } from '../stores.ts';
import { createRedisBudgetState } from './budget-state.ts';
import { connectRedis } from './connection.ts';
import type { RedisConfig } from './connection.ts';
import { createDirectoryChanges } from './directory-changes.ts';
import { createRedisDirectoryStore } from './directory-store.ts';
import { readDurability } from './durability.ts';
import { createRedisEpochStore } from './epoch-store.ts';
import { createGuardedClient } from './guarded-client.ts';
import { createRedisIdempotencyStore } from './idempotency-store.ts';
import { createRedisJobStore } from './job-store.ts';
import { createKeys } from './keys.ts';
import { createRedisLeaderLease } from './leader.ts';
import { createRedisSinkPositions } from './sink-positions.ts';
import { createRedisLedgerReader } from './ledger-reader.ts';
import { createRedisLiveStore } from './live-store.ts';
import { createRedisQuotaStore, LEDGER_TTL_MS } from './quota-store.ts';
import { createRedisRolloutFigures } from './rollout-figures.ts';
import { createRedisRateShares } from './rate-shares.ts';
import { createScriptRunner, readScripts } from './script-runner.ts';
import type { ScriptSources } from './script-runner.ts';
import { createRedisSpendSource } from './spend-source.ts';
import { createRedisTraceStore } from './trace-store.ts';
import { createTenantIndex } from './tenant-index.ts';
import { createWritePacer } from './write-pacer.ts';

export interface RedisStoresOptions {
  readonly redis: RedisConfig;
  readonly ledger: LedgerSettings;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'anomaly' | 'storeState'>;
  readonly clock?: Clock;
  readonly sources?: ScriptSources;
  readonly onExpired?: OnExpired | undefined;
}

/** All stores over one connection. Starts `down` and connects in the background: `await stores.ready(ms)` before serving. */
export function createRedisStores({
  redis,
  ledger,
  log,
  metrics,
  clock = systemClock,
  sources = readScripts(),
  onExpired,
}: RedisStoresOptions): Stores {
  const keys = createKeys({ prefix: redis.keyPrefix });
  const { client, breaker } = createGuardedClient({ redis, probeKey: keys.probe, log, metrics });
  const run = createScriptRunner({ client, sources, pacer: createWritePacer(client) });
  const tenants = createTenantIndex({ run, keys, clock, leaseMs: ledger.leaseMs, keepMs: LEDGER_TTL_MS });
  // A new connection may lead to a store that lost what it was told last.
  client.on('ready', () => tenants.forget());
  const { call } = breaker;
  const spool = createSettlementSpool({
    quota: createRedisQuotaStore({ run, keys, call, tenants, ledger, clock, onExpired }),
    log,
    metrics,
  });
  const { maxEvents, zone } = ledger;
  const reader = createRedisLedgerReader({ client, keys, call, maxEvents });
  const source = createRedisSpendSource({ client, run, keys, call, tenants: () => reader.tenants(), maxEvents });
  const changes = createDirectoryChanges({
    connect: () => connectRedis({ redis, onError: (error) => log.debug('directory connection', { error }) }),
    countWrites: async () => Number((await call(() => client.get(`${keys.directory}writes`))) ?? 0),
    channel: `${keys.directory}changes`,
  });

  return {
    quota: spool.quota,
    ledger: reader,
    epochs: createRedisEpochStore({ client, run, call, keys }),
    positions: createRedisSinkPositions({ client, call, prefix: redis.keyPrefix }),
    directory: createRedisDirectoryStore({ client, run, keys, call, changes }),
    spend: createSpendReader({ source, clock, zone }),
    budgets: createRedisBudgetState({
      client,
      call,
      prefix: redis.keyPrefix,
      connect: () => connectRedis({ redis, onError: (error) => log.debug('budget connection', { error }) }),
    }),
    rateShares: createRedisRateShares({ client, run, call, prefix: redis.keyPrefix }),
    live: createRedisLiveStore({ client, call, prefix: redis.keyPrefix }),
    rolloutFigures: createRedisRolloutFigures({ client, call, prefix: redis.keyPrefix }),
    jobs: createRedisJobStore({ client, call, prefix: redis.keyPrefix }),
    idempotency: createRedisIdempotencyStore({ client, keyPrefix: redis.keyPrefix, call }),
    lease: createRedisLeaderLease({ client, call, prefix: redis.keyPrefix }),
    traces: createRedisTraceStore({ client, run, keys, breaker, metrics }),
    durability: () => breaker.call(() => readDurability(client)),
    state: breaker.state,
    ready: breaker.ready,
    flush: spool.flush,
    close: async () => {
      spool.close();
      changes.close();
      breaker.close();
      client.disconnect();
    },
  };
}
