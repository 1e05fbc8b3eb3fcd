import type { Clock } from '../../core/ports/clock.ts';
import type { LedgerReader, LedgerTrimmer } from '../../core/ports/quota-store.ts';
import type { SinkPositionStore } from '../../core/ports/sink-positions.ts';
import type { Log } from '../../core/ports/telemetry.ts';
import type { LedgerSink } from './ledger-sink.ts';

export interface LedgerFollowerOptions {
  readonly reader: LedgerReader;
  readonly sink: LedgerSink;
  readonly positions: SinkPositionStore;
  readonly log: Log;
  /** Where the ledger is trimmed behind us; left out where it trims itself. */
  readonly trimmer?: LedgerTrimmer;
  readonly clock?: Clock;
  /** Entries for one write of the sink: it likes few large ones. So many are held in memory. */
  readonly batch?: number;
  /** Pause after everything is delivered. */
  readonly pollMs?: number;
  /** Pauses after failures: doubled from the first to the longest. */
  readonly backoff?: { readonly firstMs: number; readonly longestMs: number };
  readonly random?: () => number;
}
