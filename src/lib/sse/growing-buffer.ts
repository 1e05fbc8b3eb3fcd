const EMPTY = Buffer.alloc(0);
const SMALLEST = 512;

/**
 * Bytes that arrive in pieces. Capacity doubles, so n bytes cost at most about 2n copied bytes however small the pieces are;
 * a list of slices would cost an object a piece and keep every network chunk alive.
 */
export class GrowingBuffer {
  #bytes: Buffer = EMPTY;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(source: Buffer, start: number, end: number): void {
    const needed = this.#length + (end - start);
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2, SMALLEST));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    source.copy(this.#bytes, this.#length, start, end);
    this.#length = needed;
  }

  /** Gives the bytes away and starts anew: what was taken is never written to again. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#bytes = EMPTY;
    this.#length = 0;
    return taken;
  }
}
