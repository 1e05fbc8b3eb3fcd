import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RequestTrace } from '../core/ports/trace-store.ts';

/** May this process take requests, and if not, why not? */
export interface HealthReport {
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

/** Options of the server. */
export interface OpsServerOptions {
  readonly metrics: () => Promise<string>;
  readonly health: () => HealthReport | Promise<HealthReport>;
  /** What `/trace/<id>` shows; without it there is no such path. */
  readonly traceRoute?: (shownId: string) => Promise<readonly RequestTrace[]>;
  /** How long an answer may take, in milliseconds. */
  readonly timeoutMs?: number;
}

/** Where to listen. */
export type OpsAddress = { readonly address: string; readonly port: number } | { readonly socket: string };

export interface OpsServer {
  /** The port in use; 0 on a socket. */
  readonly port: number;
  readonly close: () => Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

const json = (status: number, value: unknown): Answer => ({
  status,
  type: 'application/json',
  body: `${JSON.stringify(value)}\n`,
});
const ID = /^\/trace\/([\w.~-]{1,128})$/;
const MAX_CONNECTIONS = 64;

function within<T>(work: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('too slow')), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

async function answer(path: string, options: OpsServerOptions): Promise<Answer> {
  if (path === '/healthz') return json(200, { status: 'alive' });
  if (path === '/readyz') {
    const { ready, reasons } = await options.health();
    return json(ready ? 200 : 503, { status: ready ? 'ready' : 'not_ready', reasons });
  }
  if (path === '/metrics')
    return { status: 200, type: 'text/plain; version=0.0.4; charset=utf-8', body: await options.metrics() };
  const id = ID.exec(path)?.[1];
  if (id !== undefined && options.traceRoute !== undefined) {
    const traces = await options.traceRoute(id);
    return traces.length > 0 ? json(200, traces) : json(404, { error: 'no such request' });
  }
  return json(404, { error: 'no such path' });
}

function send(response: ServerResponse, { status, type, body }: Answer): void {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
  });
  response.end(body);
}

/**
 * Serves `/healthz` (alive), `/readyz` (200, or 503 with reasons), `/metrics` and `/trace/<id>` over plain HTTP. Rejects
 * when the address cannot be had. Faults of what it shows are a bounded 500 without their text.
 */
export async function createOpsServer(options: OpsServerOptions & OpsAddress): Promise<OpsServer> {
  const { timeoutMs = 5000 } = options;
  const server = createServer(
    { requestTimeout: 10_000, headersTimeout: 5000, maxHeaderSize: 8192 },
    (request, response) => {
      if (request.method !== 'GET') return send(response, json(405, { error: 'only GET' }));
      const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
      within(answer(path, options), timeoutMs).then(
        (found) => send(response, found),
        () => send(response, json(500, { error: 'not available' })),
      );
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(
      'socket' in options ? { path: options.socket } : { host: options.address, port: options.port },
      resolve,
    );
  });
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound !== null ? (bound satisfies AddressInfo).port : 0,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
