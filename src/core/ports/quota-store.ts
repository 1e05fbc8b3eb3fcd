import type { OperationId } from '../ids.ts';
import type { LedgerEvent } from '../ledger-event.ts';
import type { Amounts, LimitLine, LimitState } from '../limit.ts';

/** The store did not answer in time, or its breaker is open. Nothing is known of the operation unless `sent` is false. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
  /** False when the call was not even sent: then nothing can have come of it. */
  readonly sent: boolean;

  constructor(message: string, options: ErrorOptions & { readonly sent?: boolean } = {}) {
    super(message, options);
    this.sent = options.sent ?? true;
  }
}

export type AdmitResult =
  | { readonly kind: 'held'; readonly limits: readonly LimitState[] }
  /** Nothing was taken from any line. `by` is the tightest line that refused (the longest wait). */
  | {
      readonly kind: 'denied';
      readonly by: LimitState;
      readonly limits: readonly LimitState[];
      readonly retryAfterMs: number;
    };

/** A reservation that nobody settled: charged as reserved, or given back, as `ledger.on_crash` says. */
export interface ExpiredLease {
  readonly tenant: string;
  readonly operation: OperationId;
  readonly rule: 'charge' | 'release';
}

/** Told once of each, in the process whose call ended it. Must not throw. */
export type OnExpired = (lease: ExpiredLease) => void;

/**
 * Reservations: held → settled, or held → expired when nobody gave a sign of life for the lease. Every call is one atomic
 * step, idempotent by operation, and throws `StoreUnavailable` within the store's own deadline. Amounts are whole numbers.
 */
export interface QuotaStore {
  /** Takes `amounts` from all `lines` or from none. Again with the same operation: the first answer. */
  admit(request: {
    readonly operation: OperationId;
    readonly tenant: string;
    readonly lines: readonly LimitLine[];
    readonly amounts: Amounts;
    readonly leaseMs: number;
    /** What the estimate would cost: booked as the event when the lease runs out and the rule is `charge`. */
    readonly onExpiry: LedgerEvent | null;
  }): Promise<AdmitResult>;
  /** A sign of life. False when the operation is not held any more. */
  renew(tenant: string, operation: OperationId, leaseMs: number): Promise<boolean>;
  /**
   * Replaces what was reserved by `actual` (zero releases it) and appends `events`, once: a second call changes nothing and
   * says `repeated`. Works without a reservation too (`unbooked` requests), then only the events are written. After an expiry
   * the true amounts and events still replace the expired ones: `late`.
   */
  settle(request: {
    readonly operation: OperationId;
    readonly tenant: string;
    readonly actual: Amounts;
    readonly events: readonly LedgerEvent[];
  }): Promise<'settled' | 'repeated' | 'late'>;
  /** Ends what is past its lease, for every tenant; gives how many. */
  sweep(): Promise<number>;
  /** Reads the lines without taking anything. */
  peek(tenant: string, lines: readonly LimitLine[]): Promise<readonly LimitState[]>;
}

/** An entry of a ledger as readers give it. */
export interface LedgerEntry {
  /** `<unix ms>-<n>`, ascending in the order of booking. */
  readonly id: string;
  /** Number of the entry among all that were ever booked for its tenant, from 1; null for entries of older versions. */
  readonly number?: number | null;
  readonly event: LedgerEvent;
}

/** Reading side of the ledger. */
export interface LedgerReader {
  /** Events of one tenant, oldest first, from the id after `after`; at most `count`. */
  read(tenant: string, after: string | null, count: number): Promise<readonly LedgerEntry[]>;
  tenants(): Promise<readonly string[]>;
  /** How many entries were ever booked for each of `tenants`; 0 where that is not known. */
  booked(tenants: readonly string[]): Promise<readonly number[]>;
  /** Open reservations over all tenants. */
  open(): Promise<number>;
}

/** Lets go of the old end of ledgers, where somebody else decides what may go. Throws `StoreUnavailable`. */
export interface LedgerTrimmer {
  /** Drops entries before `id` as far as more than `ledger.max_events` are kept, about. */
  trim(tenant: string, id: string): Promise<void>;
}
