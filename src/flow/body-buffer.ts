import { GatewayError } from '../core/error.ts';
import { giveBack } from '../lib/memory/give-back.ts';

/** A piece of at least so many bytes, in memory that holds at most so much more than it, is given back when it was copied. */
const LARGE_BYTES = 64 * 1024;
const AROUND_BYTES = 64;

/** A request body as it comes, up to a limit in bytes. */
export class BodyBuffer {
  readonly #limit: number;
  #chunks: Buffer[] = [];
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Throws `GatewayError` (`request_too_large`) past the limit. */
  add(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > this.#limit) {
      throw new GatewayError('request_too_large', `The request body is larger than the limit of ${this.#limit} bytes.`);
    }
    if (chunk.length > 0) this.#chunks.push(chunk);
  }

  /** The whole body; copied only where it came in pieces, the large ones of which are of no use to anybody afterwards. */
  whole(): Buffer {
    const [first] = this.#chunks;
    if (this.#chunks.length === 1 && first !== undefined) return first;
    const whole = Buffer.concat(this.#chunks);
    for (const chunk of this.#chunks) if (chunk.length >= LARGE_BYTES) giveBack(chunk, AROUND_BYTES);
    this.#chunks = [whole];
    return whole;
  }
}
