import type { AuditLog } from '../core/ports/audit.ts';
import { systemClock } from '../core/ports/clock.ts';
import type { Log } from '../core/ports/telemetry.ts';
import type { Snapshot } from '../core/snapshot.ts';
import type { Stores } from '../store/stores.ts';
import type { PromMetrics } from '../telemetry/metrics.ts';
import { createRolloutMetrics } from '../telemetry/rollout-metrics.ts';
import type { Operators } from './follow-operators.ts';
import { decidedOn, followStages } from './follow-stages.ts';
import type { LiveConfig } from './live-config.ts';
import { Rollouts } from './rollouts.ts';

export interface SteerOptions {
  readonly config: LiveConfig;
  readonly stores: Stores;
  readonly operators: Pick<Operators, 'directory'>;
  readonly audit: AuditLog;
  readonly worker: number;
  readonly replica: string;
  /** Names this process among all of all times. */
  readonly holder: string;
  readonly log: Log;
  readonly metrics: PromMetrics;
}

/** What leads the configuration in force: its file, stages that were decided, and a roll-out. */
export interface Steered {
  readonly rollouts: Rollouts;
  /** Begins. A roll-out that is under way, or in force, is so when this resolves, where the store answers within `waitMs`. */
  readonly begin: (prepare: (next: Snapshot) => Promise<void>, waitMs: number) => Promise<void>;
  /** What an operator should know. */
  readonly problems: () => readonly string[];
  readonly close: () => void;
}

/** Follows the file, writes down stages, and takes part in roll-outs. */
export function steer(options: SteerOptions): Steered {
  const { config, stores, operators, audit, worker, replica, holder, log, metrics } = options;
  const decided = decidedOn(operators.directory, config.file);
  const rollouts = new Rollouts({
    config,
    stores,
    decided,
    isJudge: worker === 0,
    replica,
    holder,
    audit,
    clock: systemClock,
    log,
    metrics,
    figures: createRolloutMetrics({ registry: metrics.registry }),
  });
  let stages: ReturnType<typeof followStages> | null = null;
  return {
    rollouts,
    async begin(prepare, waitMs) {
      config.follow({ prepare, decided, onFile: rollouts.onFile });
      await rollouts.begin(prepare, waitMs);
      if (worker === 0) stages = followStages({ config: config.current, stores, operators, audit, log, metrics });
    },
    problems: () => [...(stages?.problems() ?? []), ...[rollouts.problem()].filter((each) => each !== null)],
    close() {
      config.close();
      rollouts.close();
      stages?.close();
    },
  };
}
