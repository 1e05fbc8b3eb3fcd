/** A piece of a body and when it came (`performance.now()`). */
export interface TimedBytes {
  readonly at: number;
  readonly bytes: Buffer;
}

export type RawHeaders = readonly (readonly [name: string, value: string])[];

const HEAD_END = Buffer.from('\r\n\r\n');
const LINE_END = Buffer.from('\r\n');

/** Reads one HTTP/1.1 answer piece by piece, interim ones included, and keeps the time of each piece of its body. */
export class HttpAnswer {
  readonly interim: { readonly status: number; readonly at: number }[] = [];
  readonly pieces: TimedBytes[] = [];
  status = 0;
  headers: RawHeaders = [];
  done = false;
  #state: 'head' | 'length' | 'size' | 'chunk' | 'trailer' | 'close' = 'head';
  #rest = 0;
  #buffer: Buffer = Buffer.alloc(0);

  push(data: Buffer, at: number): void {
    this.#buffer = this.#buffer.length === 0 ? data : Buffer.concat([this.#buffer, data]);
    while (!this.done && this.#step(at));
  }

  /** The connection has ended. An answer that ends by that is whole now. */
  end(): void {
    if (this.#state === 'close') this.done = true;
  }

  header(name: string): string | undefined {
    return this.headers.find(([one]) => one.toLowerCase() === name)?.[1];
  }

  #step(at: number): boolean {
    switch (this.#state) {
      case 'head':
        return this.#head(at);
      case 'size':
        return this.#size();
      case 'trailer':
        return this.#trailer();
      case 'chunk':
      case 'length':
      case 'close':
        return this.#body(at);
    }
    return false;
  }

  #body(at: number): boolean {
    if (this.#state === 'close') this.#rest = this.#buffer.length;
    const more = this.#take(at);
    if (this.#state === 'length' && this.#rest === 0) this.done = true;
    if (this.#state !== 'chunk' || this.#rest > 0 || this.#buffer.length < LINE_END.length) return more;
    this.#buffer = this.#buffer.subarray(LINE_END.length);
    this.#state = 'size';
    return true;
  }

  #trailer(): boolean {
    const line = this.#line(LINE_END);
    if (line === '') this.done = true;
    return line !== null;
  }

  #head(at: number): boolean {
    const head = this.#line(HEAD_END);
    if (head === null) return false;
    const [start = '', ...lines] = head.split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3})(?: |$)/.exec(start)?.[1] ?? Number.NaN);
    if (Number.isNaN(status)) throw new Error(`no HTTP/1.1 answer: ${start.slice(0, 100)}`);
    if (status >= 100 && status < 200 && status !== 101) {
      this.interim.push({ status, at });
      return true;
    }
    this.status = status;
    this.headers = lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
    });
    const length = this.header('content-length');
    if (this.header('transfer-encoding')?.toLowerCase() === 'chunked') this.#state = 'size';
    else if (length === undefined) this.#state = 'close';
    else this.#state = 'length';
    this.#rest = Number(length ?? 0);
    if (status === 204 || status === 304) this.done = true;
    return true;
  }

  #size(): boolean {
    const line = this.#line(LINE_END);
    if (line === null) return false;
    this.#rest = Number.parseInt(line, 16);
    if (Number.isNaN(this.#rest)) throw new Error(`no chunk size: ${line.slice(0, 100)}`);
    this.#state = this.#rest === 0 ? 'trailer' : 'chunk';
    return true;
  }

  #line(end: Buffer): string | null {
    const at = this.#buffer.indexOf(end);
    if (at < 0) return null;
    const line = this.#buffer.toString('latin1', 0, at);
    this.#buffer = this.#buffer.subarray(at + end.length);
    return line;
  }

  #take(at: number): boolean {
    const bytes = this.#buffer.subarray(0, this.#rest);
    if (bytes.length === 0) return false;
    this.pieces.push({ at, bytes });
    this.#rest -= bytes.length;
    this.#buffer = this.#buffer.subarray(bytes.length);
    return true;
  }
}
