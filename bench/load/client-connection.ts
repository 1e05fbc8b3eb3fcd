import { connect, type Socket } from 'node:net';
import { MessageReader } from './message-reader.ts';

/** How one request went. */
export interface Exchange {
  readonly ok: boolean;
  readonly firstByteAt: number;
  readonly endedAt: number;
  /** Start of the answer, where it is no good one. */
  readonly failure: string | null;
}

/** One kept-alive connection, one request at a time; it is opened again when the server closes it. */
export class ClientConnection {
  readonly #port: number;
  readonly #gaps: number[];
  readonly #reader = new MessageReader();
  #socket: Socket | null = null;
  #done: ((exchange: Exchange) => void) | null = null;
  #firstByteAt = 0;
  #lastByteAt = 0;

  /** `gaps` takes the times between two arrivals of one answer, in milliseconds. */
  constructor(port: number, gaps: number[]) {
    this.#port = port;
    this.#gaps = gaps;
  }

  send(payload: Buffer, done: (exchange: Exchange) => void): void {
    this.#done = done;
    this.#firstByteAt = 0;
    this.#reader.reset();
    this.#socket ??= this.#open();
    this.#socket.write(payload);
  }

  close(): void {
    this.#done = null;
    this.#socket?.destroy();
    this.#socket = null;
  }

  #open(): Socket {
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    socket.on('data', (bytes) => this.#onData(bytes));
    socket.on('error', () => {});
    socket.on('close', () => {
      if (this.#socket === socket) this.#socket = null;
      this.#end(false, 'the connection was closed');
    });
    return socket;
  }

  #onData(bytes: Buffer): void {
    if (this.#done === null) return;
    const whole = this.#reader.push(bytes);
    this.#time();
    if (!whole) return;
    const { head, start } = this.#reader;
    const ok = head.startsWith('HTTP/1.1 200');
    this.#end(ok, ok ? null : `${head.split('\r\n', 1)[0] ?? ''} ${start.slice(0, 200)}`);
  }

  #time(): void {
    if (this.#reader.bodyBytes === 0) return;
    const now = performance.now();
    if (this.#firstByteAt === 0) this.#firstByteAt = now;
    else this.#gaps.push(now - this.#lastByteAt);
    this.#lastByteAt = now;
  }

  #end(ok: boolean, failure: string | null): void {
    const done = this.#done;
    if (done === null) return;
    this.#done = null;
    const now = performance.now();
    done({ ok, failure, endedAt: now, firstByteAt: this.#firstByteAt === 0 ? now : this.#firstByteAt });
  }
}
