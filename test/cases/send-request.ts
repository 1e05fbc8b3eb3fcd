import net from 'node:net';
import { readEvents } from './event-stream.ts';
import { HttpAnswer, type RawHeaders, type TimedBytes } from './http-answer.ts';

export interface RawRequestOptions {
  readonly port: number;
  readonly method: string;
  readonly path: string;
  /** Spelt and ordered as they go out; `host`, and `content-length` where no framing is given, are added. */
  readonly headers: RawHeaders;
  readonly body: Buffer | null;
  /** Send the body chunked, in these pieces, each its own write. */
  readonly pieces?: readonly Buffer[];
  readonly abortAfterEvents?: number;
  readonly waitForContinueMs?: number;
  readonly timeoutMs?: number;
}

/** What came back. Times are `performance.now()`. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: RawHeaders;
  readonly pieces: readonly TimedBytes[];
  readonly interim: readonly { readonly status: number; readonly at: number }[];
  readonly sentAt: number;
  readonly endedAt: number;
  /** `whole`: an answer of its full length. `aborted`: we left, as asked. `cut`: the peer closed early. `timeout`. */
  readonly end: 'whole' | 'aborted' | 'cut' | 'timeout';
}

/** Sends one request on a connection of its own, byte for byte, and reads the answer. Rejects when there is no connection. */
export function sendRequest(options: RawRequestOptions): Promise<RawAnswer> {
  const { port, body, pieces, abortAfterEvents, waitForContinueMs, timeoutMs = 30_000 } = options;
  return new Promise((resolve, reject) => {
    const answer = new HttpAnswer();
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    const timers: NodeJS.Timeout[] = [];
    let sentAt = performance.now();
    let bodySent = false;
    let settled = false;

    const finish = (end: RawAnswer['end'], reason?: Error): void => {
      if (settled) return;
      settled = true;
      for (const timer of timers) clearTimeout(timer);
      socket.destroy();
      const { status, headers, interim, pieces: got } = answer;
      if (status === 0 && interim.length === 0 && end === 'cut') {
        reject(reason ?? new Error('the connection was closed without an answer'));
      } else resolve({ status, headers, pieces: got, interim, sentAt, endedAt: performance.now(), end });
    };
    const sendBody = (): void => {
      if (bodySent || settled) return;
      bodySent = true;
      if (pieces === undefined) {
        if (body !== null && body.length > 0) socket.write(body);
      } else sendPieces(socket, pieces);
    };

    timers.push(setTimeout(() => finish('timeout'), timeoutMs));
    socket.on('connect', () => {
      sentAt = performance.now();
      socket.write(headOf(options));
      if (waitForContinueMs === undefined) sendBody();
      else timers.push(setTimeout(sendBody, waitForContinueMs));
    });
    socket.on('data', (data: Buffer) => {
      try {
        answer.push(data, performance.now());
      } catch (reason) {
        finish('cut', reason as Error);
      }
      if (answer.interim.length > 0) sendBody();
      if (abortAfterEvents !== undefined && readEvents(answer.pieces).length >= abortAfterEvents) finish('aborted');
      if (answer.done) finish('whole');
    });
    socket.on('error', (reason) => {
      // A peer that refuses a body may close while it is being written: what it said before still counts.
      setTimeout(() => finish(answer.done ? 'whole' : 'cut', reason), 50);
    });
    socket.on('close', () => {
      answer.end();
      finish(answer.done ? 'whole' : 'cut');
    });
  });
}

function headOf({ method, path, headers, body, pieces, port }: RawRequestOptions): Buffer {
  const has = (name: string): boolean => headers.some(([one]) => one.toLowerCase() === name);
  const lines = [`${method} ${path} HTTP/1.1`];
  if (!has('host')) lines.push(`host: 127.0.0.1:${port}`);
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  if (pieces !== undefined) lines.push('transfer-encoding: chunked');
  else if (body !== null && !has('content-length')) lines.push(`content-length: ${body.length}`);
  return Buffer.from([...lines, '', ''].join('\r\n'), 'latin1');
}

/** Each piece goes out in its own turn of the loop; the last is the empty one. */
function sendPieces(socket: net.Socket, pieces: readonly Buffer[]): void {
  const [piece, ...more] = pieces;
  if (socket.destroyed) return;
  if (piece === undefined) {
    socket.write('0\r\n\r\n');
    return;
  }
  socket.write(Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]));
  setTimeout(() => sendPieces(socket, more), 30);
}
