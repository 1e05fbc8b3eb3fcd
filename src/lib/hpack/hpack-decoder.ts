import { DynamicTable } from './dynamic-table.ts';
import { HeaderField } from './header-field.ts';
import { HpackError } from './hpack-error.ts';
import { decodeHuffman } from './huffman.ts';
import { STATIC_TABLE } from './static-table.ts';

const STATIC = STATIC_TABLE.map(([name, value]) => new HeaderField(name, value));
const FIRST_DYNAMIC = STATIC.length + 1;

/** Larger than any length or index that can be meant, and small enough for whole numbers. */
const MAX_INTEGER = 2 ** 28;

export interface HpackDecoderOptions {
  /** SETTINGS_HEADER_TABLE_SIZE as we announce it, in bytes. */
  readonly tableBytes: number;
  /** The largest header list that is given out, in bytes as RFC 9113, section 6.5.2, counts them. */
  readonly listBytes: number;
}

/** A decoded block. */
export interface HeaderList {
  readonly fields: readonly HeaderField[];
  /** The list was longer than allowed; `fields` has its beginning. */
  readonly isCut: boolean;
}

/** Reads the header blocks of one connection, in the order in which they came: RFC 7541. */
export class HpackDecoder {
  readonly #options: HpackDecoderOptions;
  readonly #table: DynamicTable;
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;

  constructor(options: HpackDecoderOptions) {
    this.#options = options;
    this.#table = new DynamicTable(options.tableBytes);
  }

  /** Bytes that the dynamic table holds, overhead included. */
  get tableSize(): number {
    return this.#table.size;
  }

  /** Reads one whole block. Throws `HpackError`, after which nothing more of this connection can be read. */
  decode(bytes: Buffer, start = 0, end = bytes.length): HeaderList {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    this.#readUpdates();
    const fields: HeaderField[] = [];
    let left = this.#options.listBytes;
    while (this.#at < this.#end) {
      const field = this.#field();
      left -= field.size;
      // The rest is still read, since the table depends on it: an index of one byte may stand for a field of 4 KiB.
      if (left >= 0) fields.push(field);
    }
    return { fields, isCut: left < 0 };
  }

  /** Changes of the table's size stand at the beginning of a block: RFC 7541, section 4.2. */
  #readUpdates(): void {
    while (this.#at < this.#end && ((this.#bytes[this.#at] ?? 0) & 0xe0) === 0x20) {
      const size = this.#integer(0x1f);
      if (size > this.#options.tableBytes) throw new HpackError(`a table of ${size} bytes is more than was announced`);
      this.#table.resize(size);
    }
  }

  #field(): HeaderField {
    const first = this.#bytes[this.#at] ?? 0;
    if (first >= 0x80) return this.#entry(this.#integer(0x7f));
    if (first >= 0x40) {
      const field = this.#literal(0x3f);
      this.#table.add(field);
      return field;
    }
    if (first >= 0x20) throw new HpackError('a change of the table size inside a block');
    return this.#literal(0x0f);
  }

  #literal(mask: number): HeaderField {
    const index = this.#integer(mask);
    const name = index === 0 ? this.#string() : this.#entry(index).name;
    return new HeaderField(name, this.#string());
  }

  #entry(index: number): HeaderField {
    const found = index < FIRST_DYNAMIC ? STATIC[index - 1] : this.#table.at(index - FIRST_DYNAMIC);
    if (found === undefined) throw new HpackError(`no entry ${index} in the tables`);
    return found;
  }

  /** An integer whose prefix are the bits of `mask`: RFC 7541, section 5.1. */
  #integer(mask: number): number {
    let value = this.#byte() & mask;
    if (value < mask) return value;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (value > MAX_INTEGER || factor > MAX_INTEGER) throw new HpackError('an integer is too large');
      if (byte < 0x80) return value;
    }
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new HpackError('a block is cut');
    return this.#bytes[this.#at++] ?? 0;
  }

  #string(): string {
    const isHuffman = ((this.#bytes[this.#at] ?? 0) & 0x80) !== 0;
    const length = this.#integer(0x7f);
    const start = this.#at;
    const end = start + length;
    if (end > this.#end) throw new HpackError('a string is cut');
    this.#at = end;
    return isHuffman ? decodeHuffman(this.#bytes, start, end) : this.#bytes.toString('latin1', start, end);
  }
}
