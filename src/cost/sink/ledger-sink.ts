import type { LedgerEntry } from '../../core/ports/quota-store.ts';

/** The engine did not take what it was given. What came of it is not known: the same is sent again. */
export class SinkError extends Error {
  override readonly name = 'SinkError';
  /** False when only a person can help (a refused login, another table): it is then asked again at the longest pause only. */
  readonly passing: boolean;

  constructor(message: string, options: ErrorOptions & { readonly passing: boolean }) {
    super(message, options);
    this.passing = options.passing;
  }
}

/** Where the ledger goes beyond this gateway: an engine that holds more, and longer, than the store does. */
export interface LedgerSink {
  /** For logs: `clickhouse`. */
  readonly name: string;
  /** Tells one place that it writes to from all others; positions belong to it. */
  readonly place: string;
  /** Makes what it writes to, where it is not there yet. Throws `SinkError`. */
  prepare(signal: AbortSignal): Promise<void>;
  /**
   * Resolves when the engine has taken all of `entries`. Whatever was sent before may be sent again, in whole or in part: a
   * booking counts once, by tenant, operation, attempt and kind. Throws `SinkError`.
   */
  write(entries: readonly LedgerEntry[], signal: AbortSignal): Promise<void>;
}
