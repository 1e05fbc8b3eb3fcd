/** Bytes that a varint takes; `value` is a whole number below 2^53. */
export function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 128)) size++;
  return size;
}

/** Bytes of a length-delimited field with a one-byte tag. */
export function fieldSize(length: number): number {
  return 1 + varintSize(length) + length;
}

/**
 * Fills one buffer whose size was reckoned before. The sizes of sub-messages come from `sizes`, in the order in which the
 * reckoning pushed them, so that a nested message is measured once and not once a level.
 */
export class WireWriter {
  readonly buffer: Buffer;
  readonly #sizes: readonly number[];
  #position = 0;
  #next = 0;

  constructor(size: number, sizes: readonly number[]) {
    this.buffer = Buffer.allocUnsafe(size);
    this.#sizes = sizes;
  }

  byte(value: number): void {
    this.buffer[this.#position++] = value;
  }

  varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.buffer[this.#position++] = (rest % 128) | 0x80;
      rest = Math.floor(rest / 128);
    }
    this.buffer[this.#position++] = rest;
  }

  /** The head of a sub-message: its tag and the next reckoned size. */
  open(tag: number): void {
    this.byte(tag);
    this.varint(this.#sizes[this.#next++] ?? 0);
  }

  /** The next reckoned size, for a text whose bytes were counted. */
  utf8(tag: number, text: string): void {
    this.open(tag);
    this.#position += this.buffer.write(text, this.#position, 'utf8');
  }

  latin1(tag: number, text: string): void {
    this.byte(tag);
    this.varint(text.length);
    this.#position += this.buffer.write(text, this.#position, 'latin1');
  }

  bytes(tag: number, bytes: Uint8Array): void {
    this.byte(tag);
    this.varint(bytes.length);
    this.buffer.set(bytes, this.#position);
    this.#position += bytes.length;
  }

  double(value: number): void {
    this.#position = this.buffer.writeDoubleLE(value, this.#position);
  }

  /** False when the reckoning and the writing disagree: a fault of ours that must not reach the wire. */
  get full(): boolean {
    return this.#position === this.buffer.length && this.#next === this.#sizes.length;
  }
}
