import type { CollectedFigures } from '../control/live/live-figures.ts';
import { publishLive } from '../control/live/publish-live.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { QueueRow, RoutingWord } from '../core/ports/live.ts';
import type { ProbeMetrics } from '../core/ports/probe-metrics.ts';
import type { SurgeView } from '../core/ports/surge.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import type { Snapshot } from '../core/snapshot.ts';
import type { BreakerState } from '../routing/breaker.ts';
import { createEngine, type Engine } from '../routing/engine.ts';
import { Peers } from '../routing/peers.ts';
import { incarnationOf } from '../stations/route/targets.ts';
import type { Stores } from '../store/stores.ts';
import type { Dialects } from './dialects.ts';
import { openProbes } from './open-probes.ts';
import type { FoundAt } from './routing-view.ts';
import { createTellFindings } from './tell-findings.ts';
import { openSurge } from './open-surge.ts';

export interface OpenRoutingOptions {
  readonly config: () => Snapshot;
  readonly figures: Pick<CollectedFigures, 'rows'>;
  readonly stores: Pick<Stores, 'live' | 'lease' | 'quota'>;
  /** Names this worker among all. */
  readonly replica: string;
  readonly worker: number;
  /** Names this process among all of all times. */
  readonly holder: string;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'anomaly' | 'breaker' | 'spent' | 'surge'>;
  readonly probeFigures: ProbeMetrics;
  /** What probes speak with models. */
  readonly dialects: Pick<Dialects, 'backends'>;
  readonly clock: Clock;
  readonly everyMs?: number;
}

/** The routing core of a worker, its talk with the others, and its part in looking at backends. */
export interface Routing {
  readonly engine: Engine;
  /** What probes say of deployments. */
  readonly found: FoundAt;
  /** The load of all workers. */
  readonly surge: SurgeView;
  /** Begins to tell all workers what runs here. `running`: requests under way. */
  readonly tell: (running: () => number, queues: () => readonly QueueRow[]) => void;
  readonly close: () => Promise<void>;
}

const STATES: Readonly<Record<BreakerState, 0 | 1 | 2 | 3>> = { closed: 0, recovering: 1, soft: 2, hard: 3 };
/** A worker that says nothing for so long counts no more. */
const KEEP_MS = 5000;

/** Makes the routing core, and keeps it in step with the other workers of all replicas while the store is there. */
export function openRouting(options: OpenRoutingOptions): Routing {
  const { config, figures, stores, replica, worker, log, metrics, probeFigures, clock, everyMs = 500 } = options;
  const engine = createEngine({
    breakerPolicy: () => {
      const { breakers } = config();
      return breakers.enabled ? breakers.policy : null;
    },
    slow: (isStream) => {
      const { firstTokenMs, totalMs } = config().breakers.slow;
      const limitMs = isStream ? firstTokenMs : totalMs;
      return limitMs === null ? null : { signal: isStream ? 'first_token' : 'total', limitMs };
    },
    onFinding: createTellFindings({ log, figures: probeFigures, isLooking: () => probes.isLooking() }),
    onBreaker: ({ id, kind, state, reason }) => {
      metrics.breaker(id, kind, STATES[state]);
      const told = { deployment: id, kind, reason };
      if (state === 'soft' || state === 'hard') log.warn(`breaker ${state}`, told);
      else log.info(`breaker ${state}`, told);
    },
  });
  const probes = openProbes({ ...options, findings: engine.findings });
  const peers = new Peers({ board: engine.board, breakers: engine.breakers, keepMs: KEEP_MS, probes: probes.speaks });
  const surge = openSurge({ config, workers: config().server.workers, log, metrics, clock });
  let listening = false;

  const listen = async (): Promise<void> => {
    const forgotten = engine.sweep(clock.now());
    if (forgotten > 0) {
      metrics.anomaly('try_forgotten');
      log.warn('tries that nobody had ended', { count: forgotten });
    }
    if (listening) return;
    listening = true;
    try {
      const all = await stores.live.read();
      const others = all.filter((one) => one.replica !== replica || one.worker !== worker);
      const heard = others.flatMap(({ replica: from, worker: index, routing: word }) =>
        word === undefined ? [] : [{ peer: `${from}/${index}`, word }],
      );
      peers.hear(heard, clock.now());
      surge.hear(others);
    } catch {
      // While the store is away, each goes by what it sees itself. The store says so.
    } finally {
      listening = false;
    }
  };
  const timer = setInterval(() => void listen(), everyMs);
  timer.unref();
  let told: ReturnType<typeof publishLive> | null = null;
  return {
    engine,
    surge,
    found: (place) => engine.findings.of(incarnationOf(place), clock.now()),
    tell(running, queues) {
      const routing = (): RoutingWord => peers.say(clock.now());
      told = publishLive({
        figures,
        store: stores.live,
        replica,
        worker,
        running,
        queues,
        routing,
        surge: surge.word,
        clock,
      });
    },
    async close() {
      clearInterval(timer);
      await probes.close();
      surge.close();
      await told?.close();
    },
  };
}
