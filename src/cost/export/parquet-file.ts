import type { LedgerEntry } from '../../core/ports/quota-store.ts';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { type ColumnType, LEDGER_COLUMNS } from '../ledger-columns.ts';

type SchemaElement = ParquetWriter['schema'][number];

/** Rows of a row group: writing one blocks the process for about a tenth of a second. */
const GROUP = 5000;

/** Parquet types; times are UTC milliseconds. */
const TYPES: Readonly<Record<ColumnType, Omit<SchemaElement, 'name'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  integer: { type: 'INT64' },
  real: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
  time: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
};

/** Parquet, written by row groups. */
export class ParquetFile {
  readonly #bytes = new ByteWriter();
  readonly #writer = new ParquetWriter({ writer: this.#bytes, schema: schemaOf(), createdBy: 'tokenlat' });
  #waiting: LedgerEntry[] = [];

  /** The magic bytes come with the first row group. */
  head(): null {
    return null;
  }

  rows(entries: readonly LedgerEntry[]): Uint8Array | null {
    for (const entry of entries) this.#waiting.push(entry);
    if (this.#waiting.length < GROUP) return null;
    this.#writeGroup();
    return this.#take();
  }

  end(): Uint8Array {
    if (this.#waiting.length > 0) this.#writeGroup();
    void this.#writer.finish();
    return this.#take();
  }

  #writeGroup(): void {
    const entries = this.#waiting;
    this.#waiting = [];
    const columnData = LEDGER_COLUMNS.map(({ name, type, of }) => ({
      name,
      data: entries.map((entry) => {
        const value = of(entry);
        return type === 'integer' || type === 'time' ? BigInt(Math.trunc(Number(value))) : value;
      }),
    }));
    void this.#writer.write({ columnData, rowGroupSize: entries.length });
  }

  /** What is written so far leaves the buffer; offsets in the file go on counting. */
  #take(): Uint8Array {
    const bytes = this.#bytes.getBytes().slice();
    this.#bytes.index = 0;
    return bytes;
  }
}

function schemaOf(): SchemaElement[] {
  const columns = LEDGER_COLUMNS.map(({ name, type, nullable }) => ({
    name,
    ...TYPES[type],
    repetition_type: nullable ? ('OPTIONAL' as const) : ('REQUIRED' as const),
  }));
  return [{ name: 'ledger', num_children: columns.length }, ...columns];
}
