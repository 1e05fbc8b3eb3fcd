import { createHash } from 'node:crypto';
import type { BudgetRecord } from '../../core/directory.ts';
import { type MicroUnits, microUnits } from '../../core/money.ts';
import type { BudgetAlert, BudgetStatus } from '../../core/ports/budget-state.ts';
import type { Period } from '../../lib/calendar/calendar-period.ts';

/** What the counter of a budget says. */
export interface Reading {
  readonly spent: MicroUnits;
  readonly period: Period;
}

export interface Judgement {
  /** What is to be kept of the budget; null where nothing is to be said of it. */
  readonly status: BudgetStatus | null;
  /** Does it differ from what was kept before? */
  readonly changed: boolean;
  readonly alerts: readonly BudgetAlert[];
}

/** The percentage at which cost protection begins: it always raises an alert. */
const FULL = 100;

/** The same whoever raises it, so that it is raised once and receivers can tell a repetition. */
function alertId(budget: string, period: string, percent: number): string {
  const hash = createHash('sha256').update(`${budget}\n${period}\n${percent}`).digest('hex');
  return `alert_${hash.slice(0, 20)}`;
}

function reached(spent: number, amount: number, percent: number): boolean {
  return BigInt(spent) * 100n >= BigInt(amount) * BigInt(percent);
}

/** Of a budget of nothing there is no part that could be used up. */
function thresholdsOf({ alertsAt, amount }: BudgetRecord, defaults: readonly number[]): readonly number[] {
  const named = alertsAt.length > 0 ? alertsAt : defaults;
  const all = amount === 0 ? [FULL] : [...named, FULL];
  return [...new Set(all)].toSorted((a, b) => a - b);
}

/**
 * Once on, protection holds until the period ends or the budget is raised above what is spent: a correction of the counter
 * by a few cents must not switch models to and fro.
 */
function protects({ amount }: BudgetRecord, { spent }: Reading, before: BudgetStatus | null): boolean {
  return spent >= amount || (before !== null && before.protecting && amount <= before.amount);
}

function same(a: BudgetStatus | null, b: BudgetStatus | null): boolean {
  if (a === null || b === null) return a === b;
  return (
    a.period === b.period &&
    a.until === b.until &&
    a.protecting === b.protecting &&
    a.amount === b.amount &&
    a.businessLine === b.businessLine &&
    a.raised.join() === b.raised.join()
  );
}

/**
 * What follows from a budget's counter: each percentage that is reached for the first time in its period raises an alert;
 * from 100 % on the line (or tenant) is in cost protection.
 * @param now - Unix milliseconds.
 */
export function judgeBudget({
  budget,
  reading,
  kept,
  defaults,
  now,
}: {
  readonly budget: BudgetRecord;
  readonly reading: Reading;
  readonly kept: BudgetStatus | null;
  readonly defaults: readonly number[];
  readonly now: number;
}): Judgement {
  const { spent, period } = reading;
  const before = kept !== null && kept.period === period.id ? kept : null;
  const { id, tenant, businessLine, amount, currency } = budget;
  const protecting = protects(budget, reading, before);
  const known = before?.raised ?? [];
  const fresh = thresholdsOf(budget, defaults).filter(
    (percent) => reached(spent, amount, percent) && !known.includes(percent),
  );
  const shared = { budget: id, tenant, businessLine, period: period.id, amount, spent, currency };
  const alerts = fresh.map((percent) => ({
    ...shared,
    id: alertId(id, period.id, percent),
    percent,
    protecting: percent >= FULL && protecting,
    time: now,
  }));
  const raised = [...known, ...fresh].toSorted((a, b) => a - b);
  const status = raised.length === 0 && !protecting ? null : { ...shared, until: period.end, raised, protecting };
  return { status, changed: !same(kept, status), alerts };
}

/** Reads a counter that only counts: `limit` less what is left. */
export function spentOf(limit: number, remaining: number): MicroUnits {
  return microUnits(Math.max(0, limit - remaining));
}
