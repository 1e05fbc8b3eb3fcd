import { GatewayError } from '../core/error.ts';

/** A request body as it comes, up to a limit in bytes. */
export class BodyBuffer {
  readonly #limit: number;
  readonly #chunks: Buffer[] = [];
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

  /** The whole body; copied only where it came in pieces. */
  whole(): Buffer {
    const [first] = this.#chunks;
    return this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
  }
}
