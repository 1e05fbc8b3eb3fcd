import { setTimeout as sleep } from 'node:timers/promises';
import type { BudgetMetrics, BudgetStateStore, ProtectionView } from '../../core/ports/budget-state.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { LeaderLease } from '../../core/ports/leader.ts';
import type { QuotaStore } from '../../core/ports/quota-store.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import type { Snapshot } from '../../core/snapshot.ts';
import type { FollowedDirectory } from '../directory-view/follow-directory.ts';
import { createAlertDelivery } from './deliver-alerts.ts';
import { createBudgetRound } from './evaluate-budgets.ts';
import { followProtection } from './follow-protection.ts';
import { lead } from '../lead.ts';
import type { SendAlert } from './send-webhook.ts';

const CLOSE_MS = 1000;

export interface WatchBudgetsOptions {
  readonly quota: Pick<QuotaStore, 'peek'>;
  readonly state: BudgetStateStore;
  readonly lease: LeaderLease;
  readonly directory: Pick<FollowedDirectory, 'budgets' | 'view' | 'onChange'>;
  readonly config: () => Pick<Snapshot, 'budgets' | 'ledger' | 'models'>;
  /** Names this process among all replicas. */
  readonly holder: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'anomaly'>;
  readonly figures: BudgetMetrics;
  /** How an alert is sent: `createSendWebhook`. */
  readonly send: SendAlert;
}

export interface WatchedBudgets {
  /** For the station that routes. */
  readonly protection: ProtectionView;
  readonly leading: () => boolean;
  /** Ends the rounds, hands the lead over, and waits a second for deliveries that are under way. */
  readonly close: () => Promise<void>;
}

/** Watches budgets: every replica follows who is in cost protection, and the one that leads decides it and sends alerts. */
export function watchBudgets(options: WatchBudgetsOptions): WatchedBudgets {
  const { quota, state, lease, directory, config, holder, clock, log, metrics, figures, send } = options;
  const line = directory.view.line.bind(directory.view);
  const judge = createBudgetRound({
    quota,
    state,
    budgets: directory.budgets,
    line,
    config,
    clock,
    log,
    metrics,
    figures,
  });
  const delivery = createAlertDelivery({ state, channels: () => config().budgets.channels, send, clock, log, figures });
  const following = followProtection({ state, clock, log, figures });
  const leader = lead({
    lease,
    name: 'budgets',
    holder,
    clock,
    log,
    work: async () => {
      await judge();
      await delivery.round();
    },
  });
  directory.onChange(leader.wake);
  return {
    protection: following.view,
    leading: leader.leading,
    close: async () => {
      following.close();
      await leader.close();
      // What is not confirmed by then is delivered again by the next leader.
      await Promise.race([delivery.idle(), sleep(CLOSE_MS, undefined, { ref: false })]);
    },
  };
}
