import type { LedgerEvent } from '../core/ledger-event.ts';
import type { SpendRows } from './spend-rows.ts';

/** What a store keeps of spending, as it lies there. Times are unix ms. Throws `StoreUnavailable`. */
export interface SpendSource {
  readonly tenants: () => Promise<readonly string[]>;
  /** Sums of the hours or days that begin at `starts`, and the last id of the ledger (empty = none) at that very moment. */
  readonly rows: (
    tenant: string,
    unit: 'hour' | 'day',
    starts: readonly number[],
  ) => Promise<{ readonly last: string; readonly periods: readonly SpendRows[] }>;
  /** The dearest requests of a day, dearest first; `member` as in a `SpendEntry`. */
  readonly top: (
    tenant: string,
    day: number,
    count: number,
  ) => Promise<readonly { readonly member: string; readonly cost: number }[]>;
  /** Entries of the ledger as they were written: `sign` -1 takes `event` back. */
  readonly events: (
    tenant: string,
    after: string | null,
    count: number,
  ) => Promise<readonly { readonly id: string; readonly event: LedgerEvent; readonly sign: 1 | -1 }[]>;
  /** From when on the ledger is whole: earlier entries may have been let go of. -Infinity = nothing was. */
  readonly wholeFrom: (tenant: string) => Promise<number>;
}
