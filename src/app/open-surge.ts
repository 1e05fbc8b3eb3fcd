import { type SurgeWatch, watchSurge } from '../control/surge/watch-surge.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import type { Snapshot } from '../core/snapshot.ts';

export interface OpenSurgeOptions {
  readonly config: () => Pick<Snapshot, 'surge'>;
  readonly workers: number;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'surge'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** Watches the load of all workers; tells metrics each look, and the log each change. */
export function openSurge({ config, workers, log, metrics, clock }: OpenSurgeOptions): SurgeWatch {
  return watchSurge({
    policy: () => config().surge,
    workers,
    clock,
    onLook({ level, before, rate }) {
      metrics.surge(level, rate);
      if (level === before) return;
      const fields = { before, requests_per_second: Math.round(rate) };
      if (level > before) log.warn(`surge level ${level}`, fields);
      else log.info(`surge level ${level}`, fields);
    },
  });
}
