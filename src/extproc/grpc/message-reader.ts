import { KEPT_BYTES } from '../h2/limits.ts';
import { STATUS } from './call.ts';

/** A flag and a length: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md. */
const PREFIX_BYTES = 5;

/** What is set aside for a message before more of it is here. */
const FIRST_BYTES = 64 * 1024;

/** From a peer that is trusted, up to which size all of a message is set aside after that. */
const WHOLE_BYTES = 4 * 1024 * 1024;

/** Why a call cannot be read on. */
export interface ReadFault {
  readonly code: number;
  readonly details: string;
}

const COMPRESSED: ReadFault = { code: STATUS.unimplemented, details: 'compressed messages are not served' };
const BAD_FLAG: ReadFault = { code: STATUS.internal, details: 'a message has an unknown flag' };

/** Cuts the body of one call into messages. A message that lies whole in a small piece is not copied. */
export class MessageReader {
  readonly #maxBytes: number;
  readonly #leastGrowth: number;
  /** Bytes of the prefix that are here, and its length field so far. */
  #prefixed = 0;
  #length = 0;
  /** The message of which a part is here. */
  #partial: Buffer | null = null;
  #filled = 0;
  /** The message that the last `read` completed. */
  message: Buffer | null = null;
  fault: ReadFault | null = null;

  /** `isTrusted`: what a peer says of a message's length is believed, so that memory need not grow with what is here. */
  constructor(maxBytes: number, isTrusted = false) {
    this.#maxBytes = maxBytes;
    this.#leastGrowth = isTrusted ? WHOLE_BYTES : 0;
  }

  /** Bytes that are set aside for a message that is not whole. */
  get heldBytes(): number {
    return this.#partial?.length ?? 0;
  }

  /** A message has begun and is not whole. */
  get isCut(): boolean {
    return this.#prefixed > 0;
  }

  /** Reads up to the end of one message; gives how far it came. Sets `message` when one is whole, or `fault`. */
  read(bytes: Buffer, start: number, end: number): number {
    this.message = null;
    let at = start;
    while (this.#prefixed < PREFIX_BYTES) {
      if (at >= end) return at;
      const byte = bytes[at++] ?? 0;
      if (this.#prefixed === 0) this.#checkFlag(byte);
      else this.#length = this.#length * 256 + byte;
      this.#prefixed += 1;
    }
    if (this.#length > this.#maxBytes) {
      this.fault = {
        code: STATUS.resourceExhausted,
        details: `a message of ${this.#length} bytes is larger than the limit of ${this.#maxBytes}`,
      };
    }
    if (this.fault !== null) return end;
    if (this.#partial === null && end - at >= this.#length) {
      this.#give(cutOut(bytes, at, at + this.#length));
      return at + this.#length;
    }
    return this.#gather(bytes, at, end);
  }

  #checkFlag(flag: number): void {
    this.#length = 0;
    if (flag !== 0) this.fault = flag === 1 ? COMPRESSED : BAD_FLAG;
  }

  #gather(bytes: Buffer, at: number, end: number): number {
    const count = Math.min(end - at, this.#length - this.#filled);
    const wanted = this.#filled + count;
    let partial = this.#partial ?? Buffer.allocUnsafe(Math.min(this.#length, Math.max(FIRST_BYTES, count)));
    if (wanted > partial.length) {
      const larger = Buffer.allocUnsafe(
        Math.min(this.#length, Math.max(wanted, partial.length * 2, this.#leastGrowth)),
      );
      partial.copy(larger, 0, 0, this.#filled);
      partial = larger;
    }
    bytes.copy(partial, this.#filled, at, at + count);
    this.#partial = partial;
    this.#filled = wanted;
    if (wanted === this.#length) this.#give(partial);
    return at + count;
  }

  #give(message: Buffer): void {
    this.message = message;
    this.#prefixed = 0;
    this.#partial = null;
    this.#filled = 0;
  }
}

function cutOut(bytes: Buffer, start: number, end: number): Buffer {
  const view = bytes.subarray(start, end);
  return bytes.length > KEPT_BYTES ? Buffer.from(view) : view;
}
