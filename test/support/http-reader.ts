import type { Socket } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const LINE_END = Buffer.from('\r\n');
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

/** One request as it came: header names in the case and order of the wire, duplicates kept. */
export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly rawBody: Buffer;
}

/**
 * Reads HTTP/1.1 requests from a socket, one after the other. It never stops listening, so the socket's `close` is seen
 * while an answer is under way.
 */
export class HttpReader {
  readonly #socket: Socket;
  #parts: Buffer[] = [];
  #ended = false;
  #wake: (() => void) | null = null;

  constructor(socket: Socket) {
    this.#socket = socket;
    const wake = (): void => this.#wake?.();
    socket.on('data', (chunk: Buffer) => {
      this.#parts.push(chunk);
      wake();
    });
    for (const event of ['end', 'close', 'error']) {
      socket.on(event, () => {
        this.#ended = true;
        wake();
      });
    }
  }

  /** The next request; null when the peer has closed. Throws on what is no HTTP/1.1. */
  async next(): Promise<RawRequest | null> {
    const head = await this.#until(HEAD_END);
    if (head === null) return null;
    const [start = '', ...lines] = head.toString('latin1').split('\r\n');
    const [method, path, version] = start.split(' ');
    if (method === undefined || path === undefined || version !== 'HTTP/1.1') throw new Error(`no request: ${start}`);
    const headers = lines.map((line): readonly [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    });
    const value = (name: string): string | undefined => headers.find(([one]) => one.toLowerCase() === name)?.[1];
    if (value('expect')?.toLowerCase() === '100-continue') this.#socket.write(CONTINUE);
    const isChunked = value('transfer-encoding')?.toLowerCase() === 'chunked';
    const rawBody = isChunked ? await this.#chunked() : await this.#exactly(Number(value('content-length') ?? 0));
    return rawBody === null ? null : { method, path, headers, rawBody };
  }

  async #chunked(): Promise<Buffer | null> {
    const parts: Buffer[] = [];
    for (;;) {
      const line = await this.#until(LINE_END);
      if (line === null) return null;
      const size = Number.parseInt(line.toString('latin1'), 16);
      if (size === 0) break;
      const part = await this.#exactly(size + LINE_END.length);
      if (part === null) return null;
      parts.push(part.subarray(0, size));
    }
    // Trailers are passed over.
    for (;;) {
      const line = await this.#until(LINE_END);
      if (line === null) return null;
      if (line.length === 0) return Buffer.concat(parts);
    }
  }

  async #until(end: Buffer): Promise<Buffer | null> {
    for (;;) {
      const all = this.#joined();
      const at = all.indexOf(end);
      if (at >= 0) {
        this.#parts = [all.subarray(at + end.length)];
        return all.subarray(0, at);
      }
      if (!(await this.#more())) return null;
    }
  }

  async #exactly(size: number): Promise<Buffer | null> {
    while (this.#parts.reduce((sum, part) => sum + part.length, 0) < size) if (!(await this.#more())) return null;
    const all = this.#joined();
    this.#parts = [all.subarray(size)];
    return all.subarray(0, size);
  }

  #joined(): Buffer {
    const all = this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts);
    this.#parts = [all];
    return all;
  }

  async #more(): Promise<boolean> {
    const before = this.#parts.length;
    if (!this.#ended) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = null;
    }
    return this.#parts.length > before;
  }
}
