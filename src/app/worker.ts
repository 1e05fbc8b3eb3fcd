import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../core/ports/telemetry.ts';
import { type CollectedFigures, createLiveFigures } from '../control/live/live-figures.ts';
import { systemClock } from '../core/ports/clock.ts';
import type { Stores } from '../store/stores.ts';
import { createMetrics, type PromMetrics } from '../telemetry/metrics.ts';
import { createProbeMetrics } from '../telemetry/probe-metrics.ts';
import { openAdmin } from './open-admin.ts';
import { bodyWatch } from './body-watch.ts';
import { createDialects, type Dialects } from './dialects.ts';
import { createGateway, type Gateway } from './gateway.ts';
import { configReasons, createLiveConfig, type LiveConfig } from './live-config.ts';
import type { LoadedConfig } from './load.ts';
import { localRedis } from './local-redis.ts';
import { followOperators } from './follow-operators.ts';
import { type FollowedLimits, followLimits } from './follow-limits.ts';
import { auditExpiry } from './audit-expiry.ts';
import { openAudit, type OpenedAudit } from './open-audit.ts';
import { openRouting, type Routing } from './open-routing.ts';
import { openJobs } from './open-jobs.ts';
import { openWire } from './open-wire.ts';
import { openStores } from './open-stores.ts';
import { steer, type Steered } from './steer.ts';
import { tendLedger, type TendedLedger } from './tend-ledger.ts';
import { supportsResetLimits } from '../extproc/grpc/reset-limits.ts';
import { mustRefuse } from '../stations/schedule/station.ts';
import { type WatchedStore, watchStore } from './watch-store.ts';
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
  const config = createLiveConfig(loaded, log, metrics);
  const redis = loaded.snapshot.redis ?? localRedis();
  const audit = openAudit(loaded.snapshot, { worker: options.index, log, metrics, redis });
  const stores = openStores(config.current, log, metrics, auditExpiry(audit, systemClock));
  const opened: Closer[] = [];
  try {
    return await assemble(options, { config, metrics, stores, audit, opened });
  } catch (reason) {
    // What goes on by itself would keep the process alive that could not start.
    for (const close of opened.toReversed()) await close();
    await audit.close();
    await stores.close();
    metrics.close();
    throw reason;
  }
}

type Closer = () => Promise<void> | void;

interface Parts {
  readonly config: LiveConfig;
  readonly metrics: PromMetrics;
  readonly stores: Stores;
  readonly audit: OpenedAudit;
}

async function assemble(
  { loaded, index, runDir, replica, log }: WorkerOptions,
  { config, metrics, stores, audit, opened }: Parts & { readonly opened: Closer[] },
): Promise<Worker> {
  const { server: settings } = loaded.snapshot;
  const holder = `${hostname()}-${process.pid}-${randomUUID()}`;
  const figures = createLiveFigures({ clock: systemClock });
  const dialects = createDialects({ templates: null });
  const routing = routingOf(loaded, { config, stores, metrics, figures, dialects, replica, index, holder, log });
  opened.push(routing.close);
  const state = watchStore({ config: loaded.snapshot, stores, audit, recording: index === 0, log, metrics });
  opened.push(state.close);
  const operators = followOperators({ config: config.current, stores, holder, log, metrics });
  opened.push(operators.close);
  const steered = steer({ config, stores, operators, audit, worker: index, replica, holder, log, metrics });
  opened.push(steered.close);
  const jobs = openJobs({ config, stores, operators, state, audit, worker: index, holder, log, metrics });
  const gateway = createGateway({
    config: config.current,
    stores,
    keys: operators.keys,
    directory: operators.directory.view,
    protection: operators.protection,
    stages: operators.stages,
    rollouts: steered.rollouts,
    jobs,
    state,
    dialects,
    worker: index,
    workers: settings.workers,
    log,
    metrics,
    figures,
    engine: routing.engine,
    surge: routing.surge,
    clock: systemClock,
    mayWatchBody: bodyWatch(systemClock, settings.grpc === 'lean' || supportsResetLimits()),
    audit,
  });
  const waits = [stores, state, operators.directory].map((part) => part.ready(STORE_WAIT_MS));
  await Promise.all([...waits, gateway.prefetch(loaded.snapshot)]);
  await steered.begin(gateway.prefetch, STORE_WAIT_MS);
  const shares = { store: stores.rateShares, holder, clock: systemClock };
  const { trial } = steered.rollouts;
  const limits = followLimits({ config: config.current, trial, gateway, ...shares });
  opened.push(limits.close);
  const { server, neighbours } = await openWire({ loaded, index, runDir, gateway, log, metrics });
  opened.push(neighbours.close, async () => void (await server.drain(0)));
  const admin =
    index === 0
      ? await openAdmin({ config, steered, gateway, found: routing.found, stores, operators, audit, log })
      : null;
  jobs.begin();
  routing.tell(() => gateway.live.size, gateway.limits.queues);
  const ledger = tendLedger({ config: config.current, stores, holder, log, metrics });

  return {
    report: () => reportOf({ index, gateway, config, metrics, stores, audit, ledger, state, steered, limits }),
    async drain(noticeMs) {
      steered.close();
      await admin?.close();
      await Promise.all([jobs.close(settings.drainMs), server.drain(settings.drainMs, noticeMs)]);
      gateway.live.endAll();
      await Promise.race([gateway.live.finished(), sleep(FLUSH_MS, undefined, { ref: false })]);
      await routing.close();
      await limits.close();
      await stores.flush(FLUSH_MS);
      await ledger.close();
      await neighbours.close();
      await operators.close();
      state.close();
      await audit.close();
      await stores.close();
      metrics.close();
    },
  };
}

interface RoutingParts extends Pick<Parts, 'config' | 'metrics' | 'stores'>, Omit<WorkerOptions, 'loaded' | 'runDir'> {
  readonly figures: CollectedFigures;
  readonly dialects: Dialects;
  readonly holder: string;
}

function routingOf({ snapshot }: LoadedConfig, { config, metrics, index, ...parts }: RoutingParts): Routing {
  const { labelValues } = snapshot.telemetry;
  return openRouting({
    ...parts,
    config: config.current,
    worker: index,
    metrics,
    probeFigures: createProbeMetrics({ registry: metrics.registry, labelValues }),
    clock: systemClock,
  });
}

interface Looked extends Parts {
  readonly index: number;
  readonly gateway: Gateway;
  readonly ledger: TendedLedger;
  readonly state: WatchedStore;
  readonly steered: Steered;
  readonly limits: Pick<FollowedLimits, 'waitsFor'>;
}

async function reportOf(looked: Looked): Promise<WorkerReport> {
  const { index, gateway, metrics } = looked;
  return {
    worker: index,
    requests: gateway.live.size,
    metrics: await metrics.registry.getMetricsAsJSON(),
    ...(await conditionOf(looked)),
  };
}

/** May it take requests, by which configuration, and what should an operator know? */
async function conditionOf({
  stores,
  audit,
  config,
  ledger,
  state,
  steered,
  limits,
}: Looked): Promise<Pick<WorkerReport, 'ready' | 'reasons' | 'generation'>> {
  const durability = await stores.durability().catch(() => null);
  const loss = state.loss();
  const waits = limits.waitsFor();
  const { routes, generation, ledger: rules } = config.current();
  const reasons = [
    ...(stores.state() === 'down' ? ['store: down'] : []),
    ...(loss === null ? [] : [`store: has lost what it held (${loss.kind}): rebuild it, or accept the loss`]),
    ...(durability === null ? [] : durability.warnings.map((warning) => `store: ${warning}`)),
    ...configReasons(config),
    ...steered.problems(),
    ...ledger.problems(),
    ...(waits === null ? [] : [waits]),
    ...(audit.state() === 'failing' ? ['audit: cannot be written'] : []),
  ];
  const isServed = stores.state() === 'up' || routes.some((route) => route.onStoreError === 'allow');
  const ready = isServed && waits === null && !mustRefuse(rules.onStateLost, state.kept());
  return { ready, reasons, generation };
}
