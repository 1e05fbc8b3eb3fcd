import type { BudgetRecord, LineRecord } from '../../core/directory.ts';
import { type LimitLine, type LimitState, limitName } from '../../core/limit.ts';
import type { BudgetMetrics, BudgetStateStore, BudgetStatus } from '../../core/ports/budget-state.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { QuotaStore } from '../../core/ports/quota-store.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import type { Snapshot } from '../../core/snapshot.ts';
import { judgeBudget, type Judgement, spentOf } from './judge-budget.ts';
import { periodOfCounter } from './period.ts';

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

/** Tenants whose counters are read at the same time. */
const AT_ONCE = 16;
const DAY_MS = 86_400_000;
/** Such a line refuses nobody, and what is left of it tells what was spent. */
const COUNT_ONLY = Number.MAX_SAFE_INTEGER;

/** The counter that a budget is measured by. */
function counterOf({ businessLine, period }: BudgetRecord, zone: string): LimitLine {
  return {
    scope: businessLine === null ? 'tenant' : `line:${businessLine}`,
    unit: 'spend',
    window: { kind: 'calendar', unit: period, ...(zone === 'UTC' ? {} : { zone }) },
    limit: COUNT_ONLY,
  };
}

/** Currencies that something is really paid in. */
function currenciesOf({ models }: Pick<Snapshot, 'models'>): ReadonlySet<string> {
  const prices = [...models.values()].flatMap(({ deployments }) => deployments.map(({ price }) => price));
  return new Set(
    prices.filter((price) => price.promptPerMtok + price.completionPerMtok > 0).map((price) => price.currency),
  );
}

function byTenant(budgets: readonly BudgetRecord[]): readonly (readonly BudgetRecord[])[] {
  const groups = new Map<string, BudgetRecord[]>();
  for (const budget of budgets) {
    const group = groups.get(budget.tenant);
    if (group === undefined) groups.set(budget.tenant, [budget]);
    else group.push(budget);
  }
  return [...groups.values()];
}

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

  /** Counters add up one currency: a budget in another one would compare what cannot be compared. */
  function measurable(budget: BudgetRecord, currencies: ReadonlySet<string>): boolean {
    if (currencies.size === 0 || (currencies.size === 1 && currencies.has(budget.currency))) return true;
    if (told.has(budget.id)) return false;
    if (told.size > 10_000) told.clear();
    told.add(budget.id);
    metrics.anomaly('budget_currency');
    log.error('a budget is in another currency than prices, and is not watched', {
      budget: budget.id,
      currency: budget.currency,
    });
    return false;
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

  async function judgeTenant(budgets: readonly BudgetRecord[], kept: ReadonlyMap<string, BudgetStatus>): Promise<void> {
    const { zone } = config().ledger;
    const lines = new Map(budgets.map((budget) => [nameOf(counterOf(budget, zone)), counterOf(budget, zone)]));
    const states = await quota.peek(budgets[0]?.tenant ?? '', [...lines.values()]);
    const found = new Map<string, LimitState>(states.map((each) => [nameOf(each.line), each]));
    for (const budget of budgets) {
      const counter = found.get(nameOf(counterOf(budget, zone)));
      if (counter === undefined) continue;
      const now = clock.time();
      const spent = spentOf(COUNT_ONLY, counter.remaining);
      const period = periodOfCounter(now, spent === 0 ? 0 : counter.resetMs, budget.period, zone);
      const before = kept.get(budget.id) ?? null;
      const defaults = config().budgets.alertsAt;
      await act(budget, judgeBudget({ budget, reading: { spent, period }, kept: before, defaults, now }), before);
    }
  }

  return async function round() {
    const all = options.budgets();
    // Nothing known is not the same as no budgets: nobody leaves protection for it.
    if (all === null) return;
    const kept = new Map((await state.list()).map((status) => [status.budget, status]));
    const currencies = currenciesOf(config());
    const budgets = all.filter((budget) => measurable(budget, currencies));
    const ids = new Set(budgets.map(({ id }) => id));
    for (const id of kept.keys()) if (!ids.has(id)) await state.drop(id);
    const tenants = byTenant(budgets);
    for (let at = 0; at < tenants.length; at += AT_ONCE) {
      await Promise.all(tenants.slice(at, at + AT_ONCE).map((each) => judgeTenant(each, kept)));
    }
  };
}

function nameOf(line: LimitLine): string {
  return `${line.scope} ${limitName(line)}`;
}
