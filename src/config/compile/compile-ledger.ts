import type { Ledger, LedgerSinkSettings } from '../../core/snapshot.ts';
import type { FileReader } from '../references.ts';
import type { ConfigDocument } from '../schema/document.ts';

export function compileLedger({ ledger }: ConfigDocument, files: FileReader): Ledger {
  return {
    leaseMs: ledger.lease,
    onCrash: ledger.on_crash,
    maxEvents: ledger.max_events,
    keepMs: ledger.keep,
    onStoreError: ledger.on_store_error,
    onStateLost: ledger.on_state_lost,
    zone: ledger.zone,
    sink: ledger.sink === undefined ? null : compileSink(ledger.sink, files),
  };
}

function compileSink(sink: NonNullable<ConfigDocument['ledger']['sink']>, files: FileReader): LedgerSinkSettings {
  const ca = sink.ca === undefined ? null : files.text(sink.ca);
  return {
    kind: sink.kind,
    url: sink.url,
    database: sink.database,
    table: sink.table,
    user: sink.user ?? null,
    password: sink.password ?? null,
    createTable: sink.create_table,
    engine: sink.engine,
    ttlDays: sink.ttl_days ?? null,
    ca: ca !== null && 'text' in ca ? ca.text : null,
    batch: sink.batch,
    intervalMs: sink.interval,
    timeoutMs: sink.timeout,
    keepUnsent: sink.keep_unsent,
    allowLinkLocal: sink.allow_link_local,
  };
}
