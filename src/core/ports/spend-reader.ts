import type { MicroUnits } from '../money.ts';

/** By what spending is added up. */
export type SpendDimension = 'model' | 'backend' | 'business_line' | 'request_type' | 'tenant' | 'charged_to';

export interface SpendQuery {
  /** null = all tenants. */
  readonly tenant: string | null;
  /** Unix milliseconds, whole hours (or whole days of the ledger's zone for `unit: day`). */
  readonly from: number;
  readonly to: number;
  readonly unit: 'hour' | 'day';
  readonly by: readonly SpendDimension[];
}

export interface SpendRow {
  /** Start of the hour or day, Unix milliseconds. */
  readonly at: number;
  readonly keys: Readonly<Partial<Record<SpendDimension, string>>>;
  readonly currency: string;
  readonly requests: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  readonly cost: MicroUnits;
}

export interface TopRequest {
  readonly requestId: string;
  readonly tenant: string;
  readonly model: string;
  readonly backend: string;
  readonly businessLine: string;
  readonly time: number;
  readonly totalTokens: number;
  readonly cost: MicroUnits;
  readonly currency: string;
}

/** Reports come from roll-ups that are written in the same step as the events they add up. Throws `StoreUnavailable`. */
export interface SpendReader {
  spend(query: SpendQuery): Promise<readonly SpendRow[]>;
  /** The dearest requests of one day (start of it, Unix milliseconds), dearest first. */
  top(query: {
    readonly tenant: string | null;
    readonly day: number;
    readonly count: number;
  }): Promise<readonly TopRequest[]>;
  /** Adds the events up anew and compares: rows that differ, as stored and as they should be. Empty = consistent. */
  verify(tenant: string): Promise<readonly { readonly stored: SpendRow | null; readonly events: SpendRow | null }[]>;
}
