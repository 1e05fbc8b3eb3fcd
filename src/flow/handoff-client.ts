import { connect, type Socket } from 'node:net';
import type { AttemptExchange, AttemptReply } from '../core/exchange.ts';
import { type Answer, type Ask, encodeFrame, FrameReader, plainHead } from './handoff-frames.ts';
import { toError } from '../lib/error/to-error.ts';

export interface BorrowOptions {
  /** Socket of the worker that has the request. */
  readonly path: string;
  readonly id: string;
  readonly cluster: string;
  readonly isConnected: boolean;
  /** Of the endpoint; left out: not told. */
  readonly address?: string;
  /** Patience for one answer. */
  readonly timeoutMs: number;
}

/** The attempt of a request that lives in another worker. Every call rejects when that worker does not answer. */
export function borrowAttempt({
  path,
  id,
  cluster,
  isConnected,
  address = '',
  timeoutMs,
}: BorrowOptions): AttemptExchange {
  const channel = new Channel(connect(path), timeoutMs);
  const reply = async (ask: Ask): Promise<AttemptReply> => {
    const answer = await channel.ask(ask);
    if (answer.kind !== 'reply') throw new Error(`the owner of request ${id} answered out of turn`);
    return answer.reply;
  };
  return {
    async onRequestHead(head) {
      const answer = await channel.ask({
        kind: 'request-head',
        id,
        cluster,
        isConnected,
        address,
        head: plainHead(head),
      });
      if (answer.kind !== 'opened') throw new Error(`request ${id} is not under way in its worker`);
      return answer.opened;
    },
    onResponseHead: ({ status, headers }, end) => reply({ kind: 'response-head', status, headers: [...headers], end }),
    onResponseBody: (chunk, end) => reply({ kind: 'response-body', chunk, end }),
    close: () => channel.close(),
  };
}

/** Passes Envoy's word that the upstream of a request broke to the worker that has the request. Best effort. */
export function tellUpstreamCut(path: string, id: string): void {
  const socket = connect(path);
  socket.on('error', () => socket.destroy());
  socket.end(encodeFrame({ kind: 'upstream-cut', id }));
}

/** Questions and answers in turn over one socket. */
class Channel {
  readonly #socket: Socket;
  readonly #reader = new FrameReader<Answer>();
  #gone: Error | null = null;
  #waiting: { resolve: (answer: Answer) => void; reject: (reason: Error) => void }[] = [];

  constructor(socket: Socket, timeoutMs: number) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the owning worker closed the connection')));
    socket.setTimeout(timeoutMs, () => {
      if (this.#waiting.length > 0) socket.destroy(new Error('the owning worker did not answer'));
    });
  }

  ask(ask: Ask): Promise<Answer> {
    if (this.#gone !== null) return Promise.reject(this.#gone);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#socket.write(encodeFrame(ask));
    });
  }

  close(): void {
    this.#socket.end();
  }

  #take(chunk: Buffer): void {
    try {
      for (const answer of this.#reader.push(chunk)) this.#waiting.shift()?.resolve(answer);
    } catch (reason) {
      this.#socket.destroy(toError(reason));
    }
  }

  #fail(reason: Error): void {
    this.#gone ??= reason;
    for (const { reject } of this.#waiting.splice(0)) reject(reason);
  }
}
