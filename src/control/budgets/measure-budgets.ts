import type { BudgetRecord } from '../../core/directory.ts';
import { type LimitLine, type LimitState, limitName } from '../../core/limit.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { QuotaStore } from '../../core/ports/quota-store.ts';
import type { Snapshot } from '../../core/snapshot.ts';
import { type Reading, spentOf } from './judge-budget.ts';
import { periodOfCounter } from './period.ts';

/** Tenants whose counters are read at the same time. */
const AT_ONCE = 16;
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
export function currenciesOf({ models }: Pick<Snapshot, 'models'>): ReadonlySet<string> {
  const prices = [...models.values()].flatMap(({ deployments }) => deployments.map(({ price }) => price));
  return new Set(
    prices.filter((price) => price.promptPerMtok + price.completionPerMtok > 0).map((price) => price.currency),
  );
}

/** Counters add up one currency: a budget in another one would compare what cannot be compared. */
export function measurable(config: Pick<Snapshot, 'models'>): (budget: Pick<BudgetRecord, 'currency'>) => boolean {
  const currencies = currenciesOf(config);
  return ({ currency }) => currencies.size === 0 || (currencies.size === 1 && currencies.has(currency));
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

export interface MeasureBudgetsOptions {
  readonly quota: Pick<QuotaStore, 'peek'>;
  readonly zone: string;
  readonly clock: Pick<Clock, 'time'>;
  readonly budgets: readonly BudgetRecord[];
  /** Gets the budgets of one tenant as soon as they are read. */
  readonly onRead: (readings: readonly (readonly [BudgetRecord, Reading])[]) => Promise<void>;
}

/** Reads the counters of budgets, which the requests themselves keep. Throws `StoreUnavailable`. */
export async function measureBudgets({ quota, zone, clock, budgets, onRead }: MeasureBudgetsOptions): Promise<void> {
  async function ofTenant(own: readonly BudgetRecord[]): Promise<void> {
    const lines = new Map(own.map((budget) => [nameOf(counterOf(budget, zone)), counterOf(budget, zone)]));
    const states = await quota.peek(own[0]?.tenant ?? '', [...lines.values()]);
    const found = new Map<string, LimitState>(states.map((each) => [nameOf(each.line), each]));
    const readings = own.flatMap((budget) => {
      const counter = found.get(nameOf(counterOf(budget, zone)));
      if (counter === undefined) return [];
      const spent = spentOf(COUNT_ONLY, counter.remaining);
      const period = periodOfCounter(clock.time(), spent === 0 ? 0 : counter.resetMs, budget.period, zone);
      return [[budget, { spent, period }] as const];
    });
    await onRead(readings);
  }
  const tenants = byTenant(budgets);
  for (let at = 0; at < tenants.length; at += AT_ONCE) {
    await Promise.all(tenants.slice(at, at + AT_ONCE).map(ofTenant));
  }
}

function nameOf(line: LimitLine): string {
  return `${line.scope} ${limitName(line)}`;
}
