import { systemClock } from '../core/ports/clock.ts';
import type { Log } from '../core/ports/telemetry.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { openSink } from '../cost/sink/open-sink.ts';
import type { Stores } from '../store/stores.ts';
import type { PromMetrics } from '../telemetry/metrics.ts';
import { createSinkMetrics } from '../telemetry/sink-metrics.ts';
import { followLedger } from './follow-ledger.ts';
import { startSweeper } from './sweeper.ts';

export interface TendLedgerOptions {
  readonly config: () => Snapshot;
  readonly stores: Stores;
  /** Names this process among all replicas. */
  readonly holder: string;
  readonly log: Log;
  readonly metrics: PromMetrics;
}

/** What looks after the ledger beside the requests. */
export interface TendedLedger {
  /** What an operator should know. */
  readonly problems: () => readonly string[];
  readonly close: () => Promise<void>;
}

/** Ends reservations that nobody settles, and carries the ledger into its sink. */
export function tendLedger({ config, stores, holder, log, metrics }: TendLedgerOptions): TendedLedger {
  const stopSweeper = startSweeper(stores.quota, log, metrics);
  const sink = followLedger({
    config,
    stores,
    open: openSink,
    holder,
    figures: createSinkMetrics({ registry: metrics.registry }),
    clock: systemClock,
    log,
  });
  return {
    problems: () => {
      const behind = sink.problem();
      return behind === null ? [] : [`ledger sink: ${behind}`];
    },
    close: async () => {
      stopSweeper();
      await sink.close();
    },
  };
}
