import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../core/ports/clock.ts';
import { parseRequestId } from '../core/ids.ts';
import type { AttemptExchange } from '../core/exchange.ts';
import type { Log } from '../core/ports/telemetry.ts';
import type { MutualTls, Snapshot } from '../core/snapshot.ts';
import { workerAddresses } from '../config/worker-address.ts';
import { watchConfig } from '../config/watch-config.ts';
import { createExtProcServer } from '../extproc/server.ts';
import { StreamFault } from '../extproc/stream-fault.ts';
import { bodyWatch } from './body-watch.ts';
import { borrowAttempt, tellUpstreamCut } from '../flow/handoff-client.ts';
import { startHandoffServer } from '../flow/handoff-server.ts';
import { createMemoryStores } from '../store/memory/memory-stores.ts';
import { createRedisStores } from '../store/redis/redis-stores.ts';
import type { Stores } from '../store/stores.ts';
import { createMetrics, type PromMetrics } from '../telemetry/metrics.ts';
import { createDialects } from './dialects.ts';
import { createGateway } from './gateway.ts';
import { CONFIG_CHECKS, type LoadedConfig } from './load.ts';
import { localRedis } from './local-redis.ts';
import { serverLimits } from './server-limits.ts';
import type { WorkerReport } from './worker-messages.ts';

export interface WorkerOptions {
  readonly loaded: LoadedConfig;
  readonly index: number;
  /** Where workers keep the sockets on which they find each other. */
  readonly runDir: string;
  readonly log: Log;
}

/** One process that serves ext_proc. */
export interface Worker {
  report(): Promise<WorkerReport>;
  /** Finishes what is under way, settles, and lets go of everything. `noticeMs`: how long Envoy may need to notice. */
  drain(noticeMs: number): Promise<void>;
}

/** How often reservations of processes that died are looked for. */
const SWEEP_MS = 5000;

/** Envoy takes up its own files in this time: only then may a plan name a new backend. */
const APPLY_DELAY_MS = 400;

/** How long a start waits for the store before it goes on without it. */
const STORE_WAIT_MS = 2000;

/** Builds and starts one worker. Throws when its address cannot be bound. */
export async function startWorker({ loaded, index, runDir, log }: WorkerOptions): Promise<Worker> {
  let config = loaded.snapshot;
  let newest = config;
  let problem: string | null = null;
  const metrics = createMetrics({ labelValues: config.telemetry.labelValues });
  const stores = openStores(config, log, metrics);
  const dialects = createDialects({ templates: null });
  const gateway = createGateway({
    config: () => config,
    stores,
    dialects,
    worker: index,
    workers: config.server.workers,
    log,
    metrics,
    clock: systemClock,
    mayWatchBody: bodyWatch(systemClock),
  });
  await Promise.all([stores.ready(STORE_WAIT_MS), gateway.prefetch(config)]);

  const attemptElsewhere = (id: string, cluster: string): AttemptExchange => {
    const parsed = parseRequestId(id);
    if (parsed === null || parsed.worker >= config.server.workers) {
      metrics.anomaly('unknown_attempt');
      throw new StreamFault('invalid', 'this attempt names no request of ours');
    }
    // Its request may just have ended, or be at another server that has a worker of the same number.
    if (parsed.worker === index)
      throw new StreamFault('unavailable', 'this attempt belongs to no request under way here');
    metrics.anomaly('attempt_elsewhere');
    return borrowAttempt({
      path: handoffPath(runDir, parsed.worker),
      id,
      cluster,
      timeoutMs: config.server.messageTimeoutMs,
    });
  };
  const handoff = await startHandoffServer({
    path: handoffPath(runDir, index),
    attempt: gateway.attempt,
    onUpstreamCut(id) {
      const parsed = parseRequestId(id);
      if (parsed !== null) gateway.live.get(parsed.id)?.upstreamCut();
    },
    log,
  });
  const server = createExtProcServer({
    ...serverLimits(config),
    bind: bindOf(config, index),
    requestFactory: gateway.requestFactory,
    attemptFactory: (id, attributes) => {
      const cluster = attributes['xds.cluster_name'] ?? '';
      return gateway.attempt(id, cluster) ?? attemptElsewhere(id, cluster);
    },
    underWay: () => gateway.live.size,
    onUpstreamCut(id) {
      const parsed = parseRequestId(id);
      if (parsed === null) return;
      const flow = gateway.live.get(parsed.id);
      if (flow !== undefined) flow.upstreamCut();
      else if (parsed.worker !== index && parsed.worker < config.server.workers) {
        tellUpstreamCut(handoffPath(runDir, parsed.worker), id);
      }
    },
    log,
    metrics,
  });
  await server.start();

  const watcher = watchConfig({
    path: loaded.path,
    ...CONFIG_CHECKS,
    current: config,
    files: loaded.files.keys(),
    onChange(next) {
      problem = null;
      newest = next;
      void Promise.all([gateway.prefetch(next), sleep(APPLY_DELAY_MS)]).then(() => {
        if (newest !== next) return;
        config = next;
        log.info('configuration reloaded', { generation: next.generation, digest: next.digest });
      });
    },
    onProblem(problems) {
      problem = problems[0]?.message ?? null;
      if (problem === null) return;
      metrics.anomaly('config_refused');
      log.error('new configuration refused, the old one stays', {
        problems: problems.length,
        first: { ...problems[0] },
      });
    },
  });
  const sweeper = setInterval(() => {
    stores.quota.sweep().then(
      (ended) => {
        if (ended > 0) log.warn('ended reservations that nobody settled', { count: ended });
      },
      () => metrics.anomaly('sweep_failed'),
    );
  }, SWEEP_MS);
  sweeper.unref();

  return {
    async report() {
      const durability = await stores.durability().catch(() => null);
      const reasons = [
        ...(stores.state() === 'down' ? ['store: down'] : []),
        ...(durability === null ? [] : durability.warnings.map((warning) => `store: ${warning}`)),
        ...(problem === null ? [] : [`config: ${problem}`]),
      ];
      return {
        worker: index,
        ready: stores.state() === 'up' || config.routes.some((route) => route.onStoreError === 'allow'),
        reasons,
        generation: config.generation,
        requests: gateway.live.size,
        metrics: await metrics.registry.getMetricsAsJSON(),
      };
    },
    async drain(noticeMs) {
      watcher.close();
      clearInterval(sweeper);
      await server.drain(config.server.drainMs, noticeMs);
      gateway.live.endAll();
      await stores.flush(FLUSH_MS);
      await handoff.close();
      await stores.close();
      metrics.close();
    },
  };
}

/** How long a drain waits for settlements that the store has not taken yet. */
const FLUSH_MS = 2000;

function openStores(config: Snapshot, log: Log, metrics: PromMetrics): Stores {
  const redis = config.redis ?? localRedis();
  if (redis === null) return createMemoryStores({ clock: systemClock, ledger: config.ledger });
  return createRedisStores({ redis, ledger: config.ledger, log, metrics });
}

function handoffPath(runDir: string, worker: number): string {
  return join(runDir, `handoff-${worker}.sock`);
}

function bindOf(config: Snapshot, index: number) {
  const address = workerAddresses(config.server)[index];
  if (address === undefined) throw new RangeError(`no address for worker ${index}`);
  if (address.kind === 'unix') return address;
  const { transport } = config.server;
  return { ...address, mtls: transport.kind === 'tcp' && transport.mtls !== null ? contents(transport.mtls) : null };
}

function contents({ cert, key, ca }: MutualTls): MutualTls {
  const read = (path: string): string => readFileSync(path, 'utf8');
  return { cert: read(cert), key: read(key), ca: read(ca) };
}
