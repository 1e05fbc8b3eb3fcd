import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import type { AttemptExchange } from '../core/exchange.ts';
import type { Log } from '../core/ports/telemetry.ts';
import { type Answer, type Ask, encodeFrame, FrameReader, requestHeadOf, responseHeadOf } from './handoff-frames.ts';
import { toError } from '../lib/error/to-error.ts';

export interface HandoffServerOptions {
  readonly path: string;
  /** The exchange of an attempt whose request is here. */
  readonly attempt: (id: string, cluster: string, isConnected: boolean, address?: string) => AttemptExchange | null;
  /** The upstream of a request that is here broke. */
  readonly onUpstreamCut: (id: string) => void;
  readonly log: Log;
}

/** Lends this process's requests to the attempts that Envoy sent to another worker. One connection an attempt. */
export async function startHandoffServer(options: HandoffServerOptions): Promise<{ close(): Promise<void> }> {
  const { path } = options;
  rmSync(path, { force: true });
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    lend(socket, options);
    socket.once('close', () => open.delete(socket));
  });
  await listen(server, path);
  chmodSync(path, 0o600);
  return {
    close: () =>
      new Promise((resolve) => {
        for (const socket of open) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => resolve());
  });
}

function lend(socket: Socket, { attempt, onUpstreamCut, log }: HandoffServerOptions): void {
  const reader = new FrameReader<Ask>();
  let exchange: AttemptExchange | null = null;
  let turn: Promise<void> = Promise.resolve();
  const fail = (reason: unknown): void => {
    log.warn('a handed-over attempt failed', { error: toError(reason) });
    socket.destroy();
  };
  const answer = async (ask: Ask): Promise<void> => {
    if (ask.kind === 'upstream-cut') {
      onUpstreamCut(ask.id);
      return;
    }
    if (ask.kind === 'request-head') exchange = attempt(ask.id, ask.cluster, ask.isConnected, ask.address);
    socket.write(encodeFrame(exchange === null ? { kind: 'unknown' } : await replyTo(exchange, ask)));
  };
  socket.on('data', (chunk) => {
    try {
      for (const ask of reader.push(chunk)) turn = turn.then(() => answer(ask)).catch(fail);
    } catch (reason) {
      fail(reason);
    }
  });
  socket.on('error', () => socket.destroy());
  socket.once('close', () => exchange?.close());
}

async function replyTo(exchange: AttemptExchange, ask: Exclude<Ask, { kind: 'upstream-cut' }>): Promise<Answer> {
  switch (ask.kind) {
    case 'request-head':
      return { kind: 'opened', opened: await exchange.onRequestHead(requestHeadOf(ask.head)) };
    case 'response-head':
      return { kind: 'reply', reply: await exchange.onResponseHead(responseHeadOf(ask), ask.end) };
    case 'response-body':
      return { kind: 'reply', reply: await exchange.onResponseBody(ask.chunk, ask.end) };
  }
}
