import type { WatchedStore } from './watch-store.ts';
import type { Snapshot } from '../core/snapshot.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { ProtectionView } from '../core/ports/budget-state.ts';
import type { RolloutView } from '../core/ports/rollout.ts';
import type { StageView } from '../core/ports/stage-view.ts';
import type { DirectoryView } from '../core/ports/directory-view.ts';
import type { LiveFigures } from '../core/ports/live.ts';
import type { SurgeView } from '../core/ports/surge.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import type { AttemptExchange, RequestExchangeFactory } from '../core/exchange.ts';
import { parseRequestId } from '../core/ids.ts';
import { createOpenAiClient } from '../dialects/openai/dialect.ts';
import { createAsError } from '../flow/as-error.ts';
import { DirectPath } from '../flow/direct-path.ts';
import type { FlowOptions } from '../flow/flow-options.ts';
import { LiveRequests } from '../flow/live-requests.ts';
import { Pipeline } from '../flow/pipeline.ts';
import { createRefusal } from '../flow/refusal.ts';
import { RequestFlow } from '../flow/request-flow.ts';
import { createServices } from '../flow/services.ts';
import { createAdapt } from '../stations/adapt/adapt.ts';
import { type Authenticate, createAuthenticate } from '../stations/authenticate/authenticate.ts';
import { modelAllowed } from '../stations/authenticate/model-allowed.ts';
import { createEnhance } from '../stations/enhance/station.ts';
import { createRoute } from '../stations/route/route.ts';
import { rateLimitHeaders } from '../stations/schedule/rate-limit-headers.ts';
import { createSchedule, type Schedule } from '../stations/schedule/station.ts';
import { createSurgeGuard } from '../stations/schedule/surge-guard.ts';
import { createWrap } from '../stations/wrap/wrap.ts';
import type { KeyDirectory } from '../store/key-directory.ts';
import type { Stores } from '../store/stores.ts';
import type { Engine } from '../routing/engine.ts';
import type { ExplainAsk, Explained } from '../admin/admin-deps.ts';
import { aliveOf } from './alive-of.ts';
import { createExplainRoute } from './explain-route.ts';
import type { Dialects } from './dialects.ts';
import { forKnownModels } from './known-models.ts';
import type { OpenedJobs } from './open-jobs.ts';
import type { OpenedAudit } from './open-audit.ts';
import { watchTries } from './watch-tries.ts';

export interface GatewayOptions {
  readonly config: () => Snapshot;
  readonly stores: Stores;
  readonly dialects: Dialects;
  readonly worker: number;
  readonly workers: number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly figures: LiveFigures;
  /** What is known of who could serve, and who decides by it. */
  readonly engine: Engine;
  /** The load of all workers. */
  readonly surge: SurgeView;
  readonly clock: Clock;
  readonly mayWatchBody: () => boolean;
  readonly audit: OpenedAudit;
  /** What operators write at run time: keys, tenants, business lines, and whose budget is used up. */
  readonly keys: Pick<KeyDirectory, 'find'>;
  readonly directory: DirectoryView;
  readonly protection: ProtectionView;
  readonly stages: StageView;
  readonly rollouts?: RolloutView;
  readonly jobs?: Pick<OpenedJobs, 'desk' | 'opens'>;
  /** Whether the store still holds what it held. */
  readonly state: Pick<WatchedStore, 'kept' | 'epoch'>;
}

/** How long a settlement waits for its request's record, where nothing may go unrecorded. */
const RECORD_MS = 1000;

/** One process's gateway, without its wire. */
export interface Gateway {
  readonly requestFactory: RequestExchangeFactory;
  /** The exchange of an attempt, or `null` when its request is not in this process. */
  readonly attempt: (id: string, cluster: string, isConnected: boolean, address?: string) => AttemptExchange | null;
  readonly live: LiveRequests;
  /** Who sent these headers? For requests that no station sees. */
  readonly identify: Authenticate['identify'];
  /** What would be decided now on a request of that shape. */
  readonly explain: (ask: ExplainAsk) => Explained;
  /** What is asked of rates, and looks at who waits: see `followLimits`. */
  readonly limits: Pick<Schedule, 'rates' | 'tick' | 'queues'>;
  /** Makes ready what a new configuration needs before its first request: key sets, the filter. */
  readonly prefetch: (config: Snapshot) => Promise<void>;
}

/** Joins the six stations, in the order in which a request meets them, to the stores and the telemetry. */
export function createGateway(options: GatewayOptions): Gateway {
  const { config, stores, dialects, worker, workers, log, metrics, clock, mayWatchBody, audit } = options;
  const { keys, directory, protection, stages, figures, engine, surge, state } = options;
  const client = createOpenAiClient();
  const live = new LiveRequests();
  const authenticate = createAuthenticate({ log, metrics, clock, keys, directory, jobs: options.jobs?.opens });
  const schedule = createSchedule({
    store: stores.quota,
    workers,
    workerIndex: worker,
    metrics,
    log,
    clock,
    directory,
    stateLost: state.kept,
    sharesRates: stores.rateShares !== null,
    aliveOf: (deployment) => aliveOf(engine.findings, deployment, clock.now()),
    again: (ctx) => route.again(ctx),
    recorded: ({ audit: rules }) => (rules?.onError === 'block' ? audit.kept(RECORD_MS) : undefined),
  });
  const route = createRoute({
    log,
    metrics,
    clock,
    supports: dialects.supports,
    directory,
    protection,
    stages,
    engine,
  });
  const enhance = createEnhance();
  const adapt = createAdapt({ dialects: dialects.backends });
  const { stations } = Pipeline.start()
    .via(authenticate)
    .via(createSurgeGuard({ surge, metrics, routeOf: route.routeOf }))
    .via(schedule.station)
    .via(route)
    .via(enhance)
    .via(adapt.station)
    .via(createWrap({ log, metrics, traces: stores.traces, audit, epoch: state.epoch }));
  const flow: FlowOptions = {
    stations,
    adapt,
    client,
    config,
    placementOf: schedule.placementOf,
    rateLimitHeaders,
    services: createServices({ allowed: modelAllowed, log }),
    refusal: createRefusal(client),
    asError: createAsError({ log, metrics }),
    mayWatchBody,
    direct: new DirectPath(clock),
    live,
    jobs: options.jobs === undefined ? undefined : forKnownModels(options.jobs.desk, route.routeOf),
    rollouts: options.rollouts,
    worker,
    metrics,
    figures,
    watch: watchTries(engine, clock, metrics),
    log,
    clock,
  };
  return {
    requestFactory: (_attributes, port) => new RequestFlow(flow, port),
    attempt(id, cluster, isConnected, address) {
      const parsed = parseRequestId(id);
      const owner = parsed === null ? undefined : live.get(parsed.id);
      return owner === undefined ? null : owner.attempt(cluster, isConnected, address);
    },
    live,
    identify: authenticate.identify,
    limits: schedule,
    explain: createExplainRoute({ station: route, config, clock, surge }),
    async prefetch(next) {
      enhance.prepare(next);
      await authenticate.prefetch(next);
    },
  };
}
