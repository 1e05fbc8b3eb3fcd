import type { Decided } from '../config/check/finding.ts';
import { keepStages, type KeptStages } from '../control/stages/keep-stages.ts';
import type { AuditLog } from '../core/ports/audit.ts';
import { systemClock } from '../core/ports/clock.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { standingOf } from '../core/stage.ts';
import type { Stores } from '../store/stores.ts';
import type { Operators } from './follow-operators.ts';

export interface FollowStagesOptions {
  readonly config: () => Snapshot;
  readonly stores: Pick<Stores, 'directory'>;
  readonly operators: Pick<Operators, 'directory'>;
  readonly audit: Pick<AuditLog, 'append'>;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'anomaly'>;
}

/** Writes down where the configuration leads deployments. One process of a server does. */
export function followStages({ config, stores, operators, audit, log, metrics }: FollowStagesOptions): KeptStages {
  const { directory } = operators;
  return keepStages({
    config,
    store: stores.directory,
    decided: directory.deployment,
    isRead: () => directory.budgets() !== null,
    audit,
    log,
    metrics,
    clock: systemClock,
  });
}

/** Where deployments stand for a new configuration: as decided, else as the one in force has them. */
export function decidedOn(
  directory: Pick<Operators['directory'], 'deployment'> | null,
  config: () => Pick<Snapshot, 'models'>,
): Decided {
  return (id) => {
    const decided = directory?.deployment(id) ?? null;
    if (decided !== null) return decided;
    const deployment = config()
      .models.get(id.slice(0, id.lastIndexOf('@')))
      ?.deployments.find((one) => one.id === id);
    if (deployment === undefined) return null;
    const { stage } = standingOf(deployment, null);
    return { upstreamModel: deployment.upstreamModel, stage, percent: null, configured: stage };
  };
}
