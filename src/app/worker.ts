import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../core/ports/telemetry.ts';
import { createLiveFigures } from '../control/live/live-figures.ts';
import { publishLive } from '../control/live/publish-live.ts';
import { systemClock } from '../core/ports/clock.ts';
import { createExtProcServer } from '../extproc/server.ts';
import type { Stores } from '../store/stores.ts';
import { createMetrics, type PromMetrics } from '../telemetry/metrics.ts';
import { openAdmin } from './open-admin.ts';
import { bindAddress } from './bind-address.ts';
import { bodyWatch } from './body-watch.ts';
import { createDialects } from './dialects.ts';
import { createGateway } from './gateway.ts';
import { createLiveConfig, type LiveConfig } from './live-config.ts';
import type { LoadedConfig } from './load.ts';
import { createNeighbours } from './neighbours.ts';
import { localRedis } from './local-redis.ts';
import { followOperators } from './follow-operators.ts';
import { openAudit, type OpenedAudit } from './open-audit.ts';
import { openStores } from './open-stores.ts';
import { serverLimits } from './server-limits.ts';
import { startSweeper } from './sweeper.ts';
import type { WorkerReport } from './worker-messages.ts';

export interface WorkerOptions {
  readonly loaded: LoadedConfig;
  readonly index: number;
  /** Where workers keep the sockets on which they find each other. */
  readonly runDir: string;
  /** Names the server that it belongs to among all replicas. */
  readonly replica: string;
  readonly log: Log;
}

/** One process that serves ext_proc. */
export interface Worker {
  report(): Promise<WorkerReport>;
  /** Finishes what is under way, settles, and lets go of everything. `noticeMs`: how long Envoy may need to notice. */
  drain(noticeMs: number): Promise<void>;
}

/** How long a start waits for the store before it goes on without it. */
const STORE_WAIT_MS = 2000;

/** How long a drain waits for settlements that the store has not taken yet. */
const FLUSH_MS = 2000;

/** Builds and starts one worker. Throws when its address cannot be bound, and lets go of everything then. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { loaded, log } = options;
  const metrics = createMetrics({ labelValues: loaded.snapshot.telemetry.labelValues });
  const stores = openStores(loaded.snapshot, log, metrics);
  const redis = loaded.snapshot.redis ?? localRedis();
  const audit = openAudit(loaded.snapshot, { worker: options.index, log, metrics, redis });
  try {
    return await assemble(options, { metrics, stores, audit });
  } catch (reason) {
    await audit.close();
    await stores.close();
    metrics.close();
    throw reason;
  }
}

interface Parts {
  readonly metrics: PromMetrics;
  readonly stores: Stores;
  readonly audit: OpenedAudit;
}

async function assemble(
  { loaded, index, runDir, replica, log }: WorkerOptions,
  { metrics, stores, audit }: Parts,
): Promise<Worker> {
  const { server: settings } = loaded.snapshot;
  const config = createLiveConfig(loaded, log, metrics);
  const figures = createLiveFigures({ clock: systemClock });
  const operators = followOperators({ config: config.current, stores, log, metrics });
  const gateway = createGateway({
    config: config.current,
    stores,
    keys: operators.keys,
    directory: operators.directory.view,
    protection: operators.protection,
    dialects: createDialects({ templates: null }),
    worker: index,
    workers: settings.workers,
    log,
    metrics,
    figures,
    clock: systemClock,
    mayWatchBody: bodyWatch(systemClock),
    audit,
  });
  await Promise.all([
    stores.ready(STORE_WAIT_MS),
    operators.directory.ready(STORE_WAIT_MS),
    gateway.prefetch(loaded.snapshot),
  ]);
  const neighbours = createNeighbours({
    gateway,
    index,
    workers: settings.workers,
    runDir,
    timeoutMs: settings.messageTimeoutMs,
    log,
    metrics,
  });
  const server = createExtProcServer({
    ...serverLimits(loaded.snapshot),
    bind: bindAddress(loaded.snapshot, index),
    requestFactory: gateway.requestFactory,
    attemptFactory: (id, attributes) => neighbours.attempt(id, attributes['xds.cluster_name'] ?? ''),
    underWay: () => gateway.live.size,
    onUpstreamCut: neighbours.upstreamCut,
    log,
    metrics,
  });
  // The address first: whoever has it already has the sockets beside it, too.
  await server.start();
  await neighbours.start();
  const admin =
    index === 0 ? await openAdmin({ config: config.current, gateway, stores, operators, audit, log }) : null;
  const running = (): number => gateway.live.size;
  const told = publishLive({ figures, store: stores.live, replica, worker: index, running, clock: systemClock });
  config.follow(gateway.prefetch);
  const stopSweeper = startSweeper(stores.quota, log, metrics);

  return {
    report: async () => ({
      worker: index,
      requests: gateway.live.size,
      metrics: await metrics.registry.getMetricsAsJSON(),
      ...(await conditionOf({ stores, audit, config })),
    }),
    async drain(noticeMs) {
      config.close();
      stopSweeper();
      await admin?.close();
      await server.drain(settings.drainMs, noticeMs);
      gateway.live.endAll();
      await Promise.race([gateway.live.finished(), sleep(FLUSH_MS, undefined, { ref: false })]);
      await stores.flush(FLUSH_MS);
      await told.close();
      await neighbours.close();
      await operators.close();
      await audit.close();
      await stores.close();
      metrics.close();
    },
  };
}

/** May it take requests, by which configuration, and what should an operator know? */
async function conditionOf({
  stores,
  audit,
  config,
}: Pick<Parts, 'stores' | 'audit'> & { readonly config: LiveConfig }): Promise<
  Pick<WorkerReport, 'ready' | 'reasons' | 'generation'>
> {
  const durability = await stores.durability().catch(() => null);
  const problem = config.problem();
  const { routes, generation } = config.current();
  const reasons = [
    ...(stores.state() === 'down' ? ['store: down'] : []),
    ...(durability === null ? [] : durability.warnings.map((warning) => `store: ${warning}`)),
    ...(problem === null ? [] : [`config: ${problem}`]),
    ...(audit.state() === 'failing' ? ['audit: cannot be written'] : []),
  ];
  const ready = stores.state() === 'up' || routes.some((route) => route.onStoreError === 'allow');
  return { ready, reasons, generation };
}
