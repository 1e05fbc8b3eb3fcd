import type { MicroUnits } from '../money.ts';

/** Where a budget stands in its period; kept from the first alert of a period on. */
export interface BudgetStatus {
  /** Id of the budget. */
  readonly budget: string;
  readonly tenant: string;
  /** null = the whole tenant. */
  readonly businessLine: string | null;
  /** `2026-03-31` or `2026-03`, in the ledger's zone. */
  readonly period: string;
  /** When the period ends, Unix milliseconds. */
  readonly until: number;
  /** Percentages whose alert was raised in this period, ascending. */
  readonly raised: readonly number[];
  /** Is the line (or tenant) in cost protection? */
  readonly protecting: boolean;
  /** The budget's amount, and what was spent, when this was written. */
  readonly amount: MicroUnits;
  readonly spent: MicroUnits;
  readonly currency: string;
}

/** Where a budget stands now, and where its period leads. */
export interface BudgetStanding {
  /** The running period, Unix milliseconds; `to` is the first that is not in it any more. */
  readonly from: number;
  readonly to: number;
  readonly spent: MicroUnits;
  /** Of the amount, with one decimal, rounded down: 100 means used up. A budget of nothing is always at 100. */
  readonly percent: number;
  /** What the whole period comes to at its pace so far; never below `spent`. */
  readonly forecast: MicroUnits;
  /** When it will be used up at that pace, Unix milliseconds; null = not in this period, or it is already. */
  readonly exhaustedAt: number | null;
  /** Is its line (or tenant) in cost protection because of it? */
  readonly protecting: boolean;
}

/** One alert. Its id is the same whoever raises it: one a budget, period and percentage. */
export interface BudgetAlert {
  /** `alert_<20 hex>`. */
  readonly id: string;
  readonly budget: string;
  readonly tenant: string;
  readonly businessLine: string | null;
  readonly period: string;
  readonly percent: number;
  readonly amount: MicroUnits;
  readonly spent: MicroUnits;
  readonly currency: string;
  /** Did cost protection begin with it? */
  readonly protecting: boolean;
  /** Unix milliseconds. */
  readonly time: number;
}

/** An alert that a channel has not taken yet. */
export interface PendingAlert {
  readonly alert: BudgetAlert;
  /** Name of the channel in the configuration. */
  readonly channel: string;
}

/** What budgets have come to, shared by all replicas. Throws `StoreUnavailable`. */
export interface BudgetStateStore {
  list(): Promise<readonly BudgetStatus[]>;
  /** Writes and tells everyone who watches. */
  put(status: BudgetStatus): Promise<void>;
  drop(budget: string): Promise<void>;
  /** Raises an alert for these channels, in one step; false when it was raised within `keepMs` before. */
  raise(alert: BudgetAlert, channels: readonly string[], keepMs: number): Promise<boolean>;
  /** What is still to be delivered, about `count` of it: each call goes on where the last one stopped, round and round. */
  pending(count: number): Promise<readonly PendingAlert[]>;
  delivered(alert: string, channel: string): Promise<void>;
  /** Calls back soon after any `put` or `drop` by anyone, or after a gap in what was heard. Best effort: ask `list` now and then. */
  watch(onChange: () => void): { close(): void };
}

/** Cost protection of a line or tenant. */
export interface Protection {
  readonly budget: string;
  readonly businessLine: string | null;
  readonly period: string;
  /** Unix milliseconds. */
  readonly until: number;
}

/** Cost protection as far as it is known here, at once: for the walk of a request. */
export interface ProtectionView {
  /** Of the line, else of its whole tenant; null when neither is in protection. */
  of(tenant: string, businessLine: string): Protection | null;
}

export const NO_PROTECTION: ProtectionView = { of: () => null };

/** Figures of budgets. Labels are bounded by the adapter. */
export interface BudgetMetrics {
  alert(tenant: string, businessLine: string, percent: number): void;
  /** Lines and tenants in cost protection right now, as this replica sees it. */
  protecting(count: number): void;
  delivery(channel: string, outcome: 'delivered' | 'failed' | 'given_up'): void;
}
