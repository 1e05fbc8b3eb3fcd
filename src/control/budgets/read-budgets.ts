import type { BudgetRecord } from '../../core/directory.ts';
import { type MicroUnits, microUnits } from '../../core/money.ts';
import type { BudgetStanding, BudgetStateStore } from '../../core/ports/budget-state.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { QuotaStore } from '../../core/ports/quota-store.ts';
import type { Snapshot } from '../../core/snapshot.ts';
import type { Reading } from './judge-budget.ts';
import { measurable, measureBudgets } from './measure-budgets.ts';

export interface ReadBudgetsOptions {
  readonly quota: Pick<QuotaStore, 'peek'>;
  readonly state: Pick<BudgetStateStore, 'list'>;
  readonly config: () => Pick<Snapshot, 'ledger' | 'models'>;
  readonly clock: Pick<Clock, 'time'>;
}

/** Where budgets stand, by id. A budget in another currency than prices cannot be measured, and is left out. Throws `StoreUnavailable`. */
export type ReadBudgets = (budgets: readonly BudgetRecord[]) => Promise<ReadonlyMap<string, BudgetStanding>>;

/** Reads the same counters that alerts go by. */
export function createReadBudgets({ quota, state, config, clock }: ReadBudgetsOptions): ReadBudgets {
  return async (budgets) => {
    const standings = new Map<string, BudgetStanding>();
    if (budgets.length === 0) return standings;
    const kept = new Map((await state.list()).map((status) => [status.budget, status]));
    await measureBudgets({
      quota,
      zone: config().ledger.zone,
      clock,
      budgets: budgets.filter(measurable(config())),
      onRead: async (readings) => {
        for (const [budget, reading] of readings) {
          const status = kept.get(budget.id);
          const protecting = status?.protecting === true && status.period === reading.period.id;
          standings.set(budget.id, { ...standingOf(budget, reading, clock.time()), protecting });
        }
      },
    });
    return standings;
  };
}

/** The pace of a period is taken from this part of it at least: its first request says nothing of its last day. */
const LEAST_PART = 100;
const MOST = BigInt(Number.MAX_SAFE_INTEGER);

/** What a budget's counter means at `now` (Unix milliseconds), in whole numbers throughout. */
export function standingOf(
  { amount }: Pick<BudgetRecord, 'amount'>,
  { spent, period: { start, end } }: Reading,
  now: number,
): Omit<BudgetStanding, 'protecting'> {
  const whole = end - start;
  const passed = Math.max(Math.ceil(whole / LEAST_PART), Math.min(whole, now - start));
  return {
    from: start,
    to: end,
    spent,
    percent: amount === 0 ? 100 : Number((BigInt(spent) * 1000n) / BigInt(amount)) / 10,
    forecast: bounded((BigInt(spent) * BigInt(whole) + BigInt(passed) / 2n) / BigInt(passed)),
    exhaustedAt: exhaustedAt({ amount, spent, start, end, passed }),
  };
}

function exhaustedAt({
  amount,
  spent,
  start,
  end,
  passed,
}: {
  readonly amount: number;
  readonly spent: number;
  readonly start: number;
  readonly end: number;
  readonly passed: number;
}): number | null {
  if (spent === 0) return null;
  const at = BigInt(start) + (BigInt(passed) * BigInt(amount)) / BigInt(spent);
  // When it was used up is not known: a pace tells of what comes, not of what was.
  if (spent >= amount) return null;
  return at < BigInt(end) ? Number(at) : null;
}

function bounded(value: bigint): MicroUnits {
  return microUnits(Number(value < MOST ? value : MOST));
}
