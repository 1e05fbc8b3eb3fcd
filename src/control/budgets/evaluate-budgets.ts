import type { BudgetRecord, LineRecord } from '../../core/directory.ts';
import type { BudgetMetrics, BudgetStateStore, BudgetStatus } from '../../core/ports/budget-state.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { QuotaStore } from '../../core/ports/quota-store.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import type { Snapshot } from '../../core/snapshot.ts';
import { judgeBudget, type Judgement } from './judge-budget.ts';
import { measurable, measureBudgets } from './measure-budgets.ts';

export interface EvaluateBudgetsOptions {
  readonly quota: Pick<QuotaStore, 'peek'>;
  readonly state: BudgetStateStore;
  /** Every budget; null while the directory is not known. */
  readonly budgets: () => readonly BudgetRecord[] | null;
  readonly line: (tenant: string, name: string) => LineRecord | null;
  readonly config: () => Pick<Snapshot, 'budgets' | 'ledger' | 'models'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'anomaly'>;
  readonly figures: BudgetMetrics;
}

const DAY_MS = 86_400_000;

/**
 * Makes one round over all budgets: reads their counters, raises the alerts that are due, and writes down who is in cost
 * protection. Every round decides by what the store holds, so that any replica can go on where another one stopped.
 * The round throws `StoreUnavailable`; what it did by then stands.
 */
export function createBudgetRound(options: EvaluateBudgetsOptions): () => Promise<void> {
  const { quota, state, config, clock, log, metrics, figures } = options;
  /** Budgets that cannot be measured, so that each is told of once. */
  const told = new Set<string>();

  function channelsOf({ tenant, businessLine }: BudgetRecord): readonly string[] {
    const named = businessLine === null ? [] : (options.line(tenant, businessLine)?.channels ?? []);
    return named.length > 0 ? named : config().budgets.defaultChannels;
  }

  /** Tells of a budget that cannot be measured, once. */
  function tellUnmeasured(budget: BudgetRecord): void {
    if (told.has(budget.id)) return;
    if (told.size > 10_000) told.clear();
    told.add(budget.id);
    metrics.anomaly('budget_currency');
    log.error('a budget is in another currency than prices, and is not watched', {
      budget: budget.id,
      currency: budget.currency,
    });
  }

  async function act(
    budget: BudgetRecord,
    { status, changed, alerts }: Judgement,
    kept: BudgetStatus | null,
  ): Promise<void> {
    for (const alert of alerts) {
      // Before the status: a leader that stops in between leaves it to the next one to find that the alert was raised.
      const keepMs = Math.max(DAY_MS, (status?.until ?? 0) - clock.time() + DAY_MS);
      if (!(await state.raise(alert, channelsOf(budget), keepMs))) continue;
      const { tenant, businessLine, percent, period, spent, amount, currency } = alert;
      log.warn('budget alert', {
        budget: budget.id,
        tenant,
        business_line: businessLine,
        percent,
        period,
        spent,
        amount,
        currency,
      });
      figures.alert(tenant, businessLine ?? '', percent);
    }
    if (!changed) return;
    await (status === null ? state.drop(budget.id) : state.put(status));
    if ((status?.protecting ?? false) === (kept?.protecting ?? false)) return;
    const { id, tenant, businessLine } = budget;
    log.warn(status?.protecting === true ? 'cost protection is on' : 'cost protection is off', {
      budget: id,
      tenant,
      business_line: businessLine,
    });
  }

  return async function round() {
    const all = options.budgets();
    // Nothing known is not the same as no budgets: nobody leaves protection for it.
    if (all === null) return;
    const kept = new Map((await state.list()).map((status) => [status.budget, status]));
    const fits = measurable(config());
    const budgets = all.filter(fits);
    for (const budget of all) if (!fits(budget)) tellUnmeasured(budget);
    const ids = new Set(budgets.map(({ id }) => id));
    for (const id of kept.keys()) if (!ids.has(id)) await state.drop(id);
    const defaults = config().budgets.alertsAt;
    await measureBudgets({
      quota,
      zone: config().ledger.zone,
      clock,
      budgets,
      onRead: async (readings) => {
        for (const [budget, reading] of readings) {
          const before = kept.get(budget.id) ?? null;
          await act(budget, judgeBudget({ budget, reading, kept: before, defaults, now: clock.time() }), before);
        }
      },
    });
  };
}
