import { type BodyPieces, partsOf } from '../../core/body-pieces.ts';

/** Bytes from which a body is passed on instead of copied. */
const PASSED_BYTES = 16 * 1024;

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

/** How much of a body of this length the writer passes on, so that no room is wanted for it. */
export function passedBytes(length: number): number {
  return length >= PASSED_BYTES ? length : 0;
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
  /** A body that is passed on, and where in the buffer it belongs. */
  #passed: readonly Buffer[] = [];
  #passedAt = 0;

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

  /** Of each message one body at most. From some size on it is passed on as it is. */
  body(tag: number, body: Uint8Array | BodyPieces): void {
    const pieces = partsOf(body);
    this.byte(tag);
    this.varint(body.length);
    if (passedBytes(body.length) > 0) {
      this.#passed = pieces.map((piece) => Buffer.from(piece.buffer, piece.byteOffset, piece.length));
      this.#passedAt = this.#position;
      return;
    }
    for (const piece of pieces) {
      this.buffer.set(piece, this.#position);
      this.#position += piece.length;
    }
  }

  /** All that was written. */
  pieces(): readonly Buffer[] {
    if (this.#passed.length === 0) return [this.buffer];
    const rest = this.buffer.subarray(this.#passedAt);
    return [this.buffer.subarray(0, this.#passedAt), ...this.#passed, ...(rest.length > 0 ? [rest] : [])];
  }

  double(value: number): void {
    this.#position = this.buffer.writeDoubleLE(value, this.#position);
  }

  /** False when the reckoning and the writing disagree: a fault of ours that must not reach the wire. */
  get full(): boolean {
    return this.#position === this.buffer.length && this.#next === this.#sizes.length;
  }
}
