import { FLAG, H2_ERROR } from './frame.ts';
import { ConnectionError } from './h2-error.ts';
import { BLOCK_BYTES, CONTINUATIONS } from './limits.ts';

/** A whole header block. */
export interface HeaderBlock {
  readonly stream: number;
  readonly isEnd: boolean;
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** Joins HEADERS and CONTINUATION to blocks, within bounds. Throws `ConnectionError`. */
export class HeaderBlocks {
  #stream = 0;
  #isEnd = false;
  #parts: Buffer[] = [];
  #size = 0;

  /** Between HEADERS and the last CONTINUATION no other frame may come, not even of another stream. */
  get isOpen(): boolean {
    return this.#stream !== 0;
  }

  /** A HEADERS frame. Gives its block when that is whole. */
  begin(stream: number, flags: number, bytes: Buffer, from: number, to: number): HeaderBlock | null {
    let start = from;
    let end = to;
    if ((flags & FLAG.padded) !== 0) {
      end -= start < end ? (bytes[start] ?? 0) : 1;
      start += 1;
    }
    if ((flags & FLAG.priority) !== 0) start += 5;
    if (start > end) throw new ConnectionError(H2_ERROR.protocol, 'HEADERS shorter than their padding');
    const isEnd = (flags & FLAG.endStream) !== 0;
    if ((flags & FLAG.endHeaders) !== 0) return { stream, isEnd, bytes, start, end };
    this.#stream = stream;
    this.#isEnd = isEnd;
    this.#parts = [];
    this.#size = 0;
    this.#add(Buffer.from(bytes.subarray(start, end)));
    return null;
  }

  /** A CONTINUATION frame. Gives the block when that is whole. */
  go(stream: number, flags: number, bytes: Buffer, start: number, end: number): HeaderBlock | null {
    if (stream !== this.#stream) throw new ConnectionError(H2_ERROR.protocol, 'CONTINUATION of nothing');
    this.#add(Buffer.from(bytes.subarray(start, end)));
    if ((flags & FLAG.endHeaders) === 0) return null;
    const whole = Buffer.concat(this.#parts);
    this.#stream = 0;
    this.#parts = [];
    return { stream, isEnd: this.#isEnd, bytes: whole, start: 0, end: whole.length };
  }

  #add(part: Buffer): void {
    this.#size += part.length;
    this.#parts.push(part);
    if (this.#size > BLOCK_BYTES || this.#parts.length > CONTINUATIONS + 1)
      throw new ConnectionError(H2_ERROR.calm, 'a header block without an end');
  }
}
