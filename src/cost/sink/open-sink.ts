import type { LedgerSinkSettings } from '../../core/snapshot.ts';
import { clickHousePlace, createClickHouseSink } from './clickhouse-sink.ts';
import type { LedgerSink } from './ledger-sink.ts';

/** The sink that a configuration asks for. */
export function openSink(settings: LedgerSinkSettings): LedgerSink {
  return createClickHouseSink(settings);
}

/** Under which name its positions are kept. */
export function sinkPlace(settings: LedgerSinkSettings): string {
  return clickHousePlace(settings);
}
