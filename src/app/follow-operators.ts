import { createSendWebhook } from '../control/budgets/send-webhook.ts';
import { watchBudgets } from '../control/budgets/watch-budgets.ts';
import { createStageView } from '../control/stages/keep-stages.ts';
import { type FollowedDirectory, followDirectory } from '../control/directory-view/follow-directory.ts';
import type { ProtectionView } from '../core/ports/budget-state.ts';
import type { StageView } from '../core/ports/stage-view.ts';
import { systemClock } from '../core/ports/clock.ts';
import type { Log } from '../core/ports/telemetry.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { createKeyDirectory, type KeyDirectory } from '../store/key-directory.ts';
import type { Stores } from '../store/stores.ts';
import { createBudgetMetrics } from '../telemetry/budget-metrics.ts';
import type { PromMetrics } from '../telemetry/metrics.ts';

export interface FollowOperatorsOptions {
  readonly config: () => Snapshot;
  readonly stores: Pick<Stores, 'directory' | 'quota' | 'budgets' | 'lease'>;
  /** Names this process among all replicas. */
  readonly holder: string;
  readonly log: Log;
  readonly metrics: PromMetrics;
}

/** What operators write at run time, as one process sees it. */
export interface Operators {
  readonly keys: KeyDirectory;
  readonly directory: FollowedDirectory;
  /** Whose budget is used up. */
  readonly protection: ProtectionView;
  /** Where deployments stand. */
  readonly stages: StageView;
  readonly close: () => Promise<void>;
}

/** Follows keys, tenants, business lines and budgets in the background, and takes part in watching budgets. */
export function followOperators({ config, stores, holder, log, metrics }: FollowOperatorsOptions): Operators {
  const directory = followDirectory({ store: stores.directory, log, metrics });
  const keys = createKeyDirectory({ store: stores.directory, clock: systemClock, log });
  const budgets = watchBudgets({
    quota: stores.quota,
    state: stores.budgets,
    lease: stores.lease,
    directory,
    config,
    holder,
    clock: systemClock,
    log,
    metrics,
    figures: createBudgetMetrics({
      registry: metrics.registry,
      labelValues: config().telemetry.labelValues,
    }),
    send: createSendWebhook({ clock: systemClock }),
  });
  return {
    keys,
    directory,
    protection: budgets.protection,
    stages: createStageView(directory.deployment),
    close: async () => {
      await budgets.close();
      directory.close();
      keys.close();
    },
  };
}
