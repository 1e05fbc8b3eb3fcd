import type { LedgerEntry, LedgerReader } from '../../core/ports/quota-store.ts';
import { csvLines } from './csv-lines.ts';
import { jsonLines } from './json-lines.ts';
import { ParquetFile } from './parquet-file.ts';

export type ExportFormat = 'csv' | 'jsonl' | 'parquet';

export interface ExportOptions {
  /** null = all tenants, one after the other. */
  readonly tenant: string | null;
  /** By the arrival of the requests, Unix milliseconds: from `from` on and before `to`. */
  readonly from: number;
  readonly to: number;
  readonly format: ExportFormat;
  /** The id to read after, where the reader's ids are known (`streamIdBefore`). Default: all entries are looked at. */
  readonly after?: string | null;
  /** Entries read at a time. */
  readonly page?: number;
}

interface Encoder {
  head(): Uint8Array | null;
  rows(entries: readonly LedgerEntry[]): Uint8Array | null;
  end(): Uint8Array | null;
}

const PAGE = 1000;

/**
 * The ledger as a file, piece by piece: memory holds one page (Parquet: one row group) at a time. Entries come in the order
 * of their booking; sums over them are right, reversals included. Throws `RangeError` for times that are none, and what the
 * reader throws.
 */
export async function* exportLedger(reader: LedgerReader, options: ExportOptions): AsyncGenerator<Uint8Array, void> {
  const { tenant, from, to, format, after = null, page = PAGE } = options;
  if (!Number.isFinite(from) || !Number.isFinite(to) || from > to) throw new RangeError('from must not be after to');
  const encoder = encoderOf(format);
  const head = encoder.head();
  if (head !== null) yield head;
  for (const name of tenant === null ? await reader.tenants() : [tenant]) {
    let last = after;
    for (;;) {
      const entries = await reader.read(name, last, page);
      const wanted = entries.filter(({ event }) => event.time >= from && event.time < to);
      const piece = wanted.length === 0 ? null : encoder.rows(wanted);
      if (piece !== null) yield piece;
      // A page that is not full is not always the last one, but an empty one is.
      const end = entries.at(-1);
      if (end === undefined) break;
      last = end.id;
    }
  }
  const end = encoder.end();
  if (end !== null) yield end;
}

function encoderOf(format: ExportFormat): Encoder {
  switch (format) {
    case 'csv':
      return csvLines;
    case 'jsonl':
      return jsonLines;
    case 'parquet':
      return new ParquetFile();
  }
}
