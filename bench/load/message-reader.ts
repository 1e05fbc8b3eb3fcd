const HEAD_END = Buffer.from('\r\n\r\n');

/** How much of a body is kept for a look. */
const KEPT = 1024;

/** Finds the end of one HTTP/1.1 message (content-length or chunked, no trailers) and keeps next to nothing of it. */
export class MessageReader {
  #head: Buffer | null = null;
  #partial: Buffer = Buffer.alloc(0);
  /** Bytes of a body or chunk still to come, its CRLF included. */
  #left = 0;
  #chunked = false;
  #size = '';
  #lastChunk = false;
  #start = '';
  #bodyBytes = 0;

  /** Bytes of body seen so far, framing included. */
  get bodyBytes(): number {
    return this.#bodyBytes;
  }

  /** The head's first line and fields, as they came. */
  get head(): string {
    return this.#head === null ? '' : this.#head.toString('latin1');
  }

  /** The first bytes of the body. */
  get start(): string {
    return this.#start;
  }

  reset(): void {
    this.#head = null;
    this.#partial = Buffer.alloc(0);
    this.#left = 0;
    this.#chunked = false;
    this.#size = '';
    this.#lastChunk = false;
    this.#start = '';
    this.#bodyBytes = 0;
  }

  /** True when the message is whole. One message at a time: nothing may follow it in `bytes`. */
  push(bytes: Buffer): boolean {
    if (this.#head !== null) return this.#body(bytes, 0);
    const all = this.#partial.length === 0 ? bytes : Buffer.concat([this.#partial, bytes]);
    const end = all.indexOf(HEAD_END);
    if (end < 0) {
      this.#partial = all;
      return false;
    }
    this.#head = all.subarray(0, end);
    const fields = this.#head.toString('latin1').toLowerCase();
    const length = /\r\ncontent-length: *(\d+)/.exec(fields)?.[1];
    this.#chunked = length === undefined && /\r\ntransfer-encoding: *chunked/.test(fields);
    this.#left = Number(length ?? 0);
    return this.#body(all, end + HEAD_END.length);
  }

  #body(bytes: Buffer, from: number): boolean {
    this.#bodyBytes += bytes.length - from;
    if (this.#start.length < KEPT) this.#start += bytes.toString('latin1', from, Math.min(bytes.length, from + KEPT));
    if (!this.#chunked) {
      this.#left -= bytes.length - from;
      return this.#left <= 0;
    }
    let at = from;
    while (at < bytes.length) {
      if (this.#left > 0) {
        const step = Math.min(this.#left, bytes.length - at);
        this.#left -= step;
        at += step;
        if (this.#left === 0 && this.#lastChunk) return true;
        continue;
      }
      const line = bytes.indexOf(10, at);
      this.#size += bytes.toString('latin1', at, line < 0 ? bytes.length : line);
      if (line < 0) return false;
      at = line + 1;
      const size = Number.parseInt(this.#size, 16);
      this.#size = '';
      this.#lastChunk = size === 0;
      this.#left = size + 2;
    }
    return false;
  }
}
