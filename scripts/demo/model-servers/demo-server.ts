import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DemoFault, parseDemoFault } from './demo-fault.ts';

const MAX_BODY = 64 * 1024 * 1024;

/** What the server really did. `completionTokens` are tokens written to the socket, of answers cut short too. */
export interface DemoStats {
  requests: number;
  promptTokens: number;
  completionTokens: number;
  /** Answers that the client did not wait for. */
  aborted: number;
  /** Requests answered with an error or cut, on purpose or for a bad request. */
  failed: number;
}

export interface DemoServerOptions {
  /** 0 = any free one. */
  readonly port?: number;
  readonly host?: string;
  /** Pause before each token. */
  readonly tokenDelayMs?: number;
  /** A fault for every request, by name (`fail-503`). */
  readonly fault?: string | null;
  /** When set, `authorization: Bearer KEY` is required. */
  readonly apiKey?: string | null;
}

export interface DemoServer {
  readonly port: number;
  readonly url: string;
  readonly stats: () => DemoStats;
  /** Sets or clears the fault of every request, as `POST /demo/fault {"fault": "hang"}` does. */
  readonly setFault: (name: string | null) => void;
  readonly close: () => Promise<void>;
}

/** One request for generation, read and checked for what both servers check. */
export interface DemoCall {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly fault: DemoFault | null;
  readonly stats: DemoStats;
  readonly response: http.ServerResponse;
  readonly tokenDelayMs: number;
}

/** Answers a request for generation. A thrown `DemoRefusal` becomes its status. */
export type DemoHandler = (call: DemoCall) => Promise<void>;

export class DemoRefusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Starts a server with `/health`, `/demo/stats`, `/demo/fault` and the given routes. */
export async function startDemoServer(
  options: DemoServerOptions,
  posts: Readonly<Record<string, DemoHandler>>,
  gets: Readonly<Record<string, () => unknown>> = {},
): Promise<DemoServer> {
  const stats: DemoStats = { requests: 0, promptTokens: 0, completionTokens: 0, aborted: 0, failed: 0 };
  const { port = 0, host = '127.0.0.1', tokenDelayMs = 0, apiKey = null } = options;
  let fault = checkedFault(options.fault ?? null);

  const post = async (request: http.IncomingMessage, response: http.ServerResponse, path: string): Promise<void> => {
    const text = await readBody(request);
    if (path === '/demo/fault') {
      fault = checkedFault((JSON.parse(text) as { fault: string | null }).fault);
      sendJson(response, 200, { fault });
      return;
    }
    const handler = Object.hasOwn(posts, path) ? posts[path] : undefined;
    if (handler === undefined) throw new DemoRefusal(404, `no such path: ${path}`);
    stats.requests += 1;
    if (apiKey !== null && request.headers.authorization !== `Bearer ${apiKey}`)
      throw new DemoRefusal(401, 'wrong key');
    const body = parse(text);
    const asked = [request.headers['x-demo-fault'], body['model']].find((name) => typeof name === 'string') as string;
    const active = fault ?? parseDemoFault(asked ?? '');
    response.on('close', () => {
      if (!response.writableFinished && response.errored === null) stats.aborted += 1;
    });
    if (active !== null && (await actAtOnce(active, response, stats))) return;
    await handler({ path, body, fault: active, stats, response, tokenDelayMs });
  };
  const handle = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    try {
      if (request.method === 'POST') await post(request, response, path);
      else if (path === '/health') response.writeHead(200).end();
      else if (path === '/demo/stats') sendJson(response, 200, stats);
      else if (Object.hasOwn(gets, path)) sendJson(response, 200, gets[path]?.());
      else throw new DemoRefusal(404, `no such path: ${path}`);
    } catch (error) {
      refuse(response, stats, error);
    }
  };
  const server = http.createServer((request, response) => void handle(request, response));
  server.listen(port, host);
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject));
  const bound = (server.address() as AddressInfo).port;
  return {
    port: bound,
    url: `http://${host}:${bound}`,
    stats: () => ({ ...stats }),
    setFault: (name) => {
      fault = checkedFault(name);
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Writes the tokens one by one, with the pauses and faults of the call. False when the client left or the fault cut it. */
export async function writeTokens(
  { fault, stats, response, tokenDelayMs }: DemoCall,
  steps: readonly { readonly text: string; readonly tokens: number }[],
  errorText: string,
): Promise<boolean> {
  if (fault?.kind === 'slow-first-token') await pause(fault.ms, response);
  for (const [at, { text, tokens }] of steps.entries()) {
    if (fault !== null && 'after' in fault && fault.after === at) return breakOff(fault, response, stats, errorText);
    if (tokenDelayMs > 0) await pause(tokenDelayMs, response);
    if (response.destroyed) return false;
    const isRoomy = response.write(text);
    stats.completionTokens += tokens;
    if (!isRoomy) await drained(response);
  }
  return !response.destroyed;
}

/** Waits as long as generating a whole answer would take. False when the client left or the fault ended it. */
export async function generateWhole(call: DemoCall, tokens: number): Promise<boolean> {
  const { fault, stats, response, tokenDelayMs } = call;
  if (fault?.kind === 'slow-first-token') await pause(fault.ms, response);
  await pause(tokenDelayMs * tokens, response);
  if (fault !== null && 'after' in fault) {
    if (fault.kind === 'error-in-stream') throw new DemoRefusal(500, 'a fault on purpose');
    if (fault.kind === 'cut') {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100_000 });
      response.write('{"');
    }
    return breakOff(fault, response, stats, '');
  }
  if (response.destroyed) return false;
  stats.completionTokens += tokens;
  return true;
}

export function sendJson(response: http.ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
}

async function actAtOnce(fault: DemoFault, response: http.ServerResponse, stats: DemoStats): Promise<boolean> {
  switch (fault.kind) {
    case 'status':
      throw new DemoRefusal(fault.status, `status ${fault.status} on purpose`);
    case 'html':
      stats.failed += 1;
      response
        .writeHead(502, { 'content-type': 'text/html' })
        .end('<!doctype html><title>Down for maintenance</title>');
      return true;
    case 'garbage':
      stats.failed += 1;
      response.writeHead(200, { 'content-type': 'application/json' }).end(Buffer.from([0x7b, 0xff, 0xfe, 0x00, 0x22]));
      return true;
    case 'reset':
      stats.failed += 1;
      await reset(response);
      return true;
    case 'hang':
      await closed(response);
      return true;
    case 'slow-first-token':
    case 'cut':
    case 'stall':
    case 'error-in-stream':
    case 'no-usage':
      return false;
    default:
      return fault satisfies never;
  }
}

async function breakOff(
  fault: DemoFault,
  response: http.ServerResponse,
  stats: DemoStats,
  errorText: string,
): Promise<false> {
  if (fault.kind === 'stall') {
    await closed(response);
    return false;
  }
  stats.failed += 1;
  if (fault.kind === 'error-in-stream') response.end(errorText);
  else await reset(response);
  return false;
}

/** What was written goes out first, so that a cut after N tokens is one after N tokens. */
async function reset(response: http.ServerResponse): Promise<void> {
  await sleep(20);
  response.destroy(new Error('cut on purpose'));
}

function refuse(response: http.ServerResponse, stats: DemoStats, error: unknown): void {
  stats.failed += 1;
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const status = error instanceof DemoRefusal ? error.status : 500;
  if (status === 429 || status === 503) response.setHeader('retry-after', '1');
  const type = status >= 500 ? 'server_error' : 'invalid_request_error';
  sendJson(response, status, {
    error: { message: error instanceof Error ? error.message : 'failed', type, param: null, code: status },
  });
}

async function readBody(request: http.IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MAX_BODY) throw new DemoRefusal(413, 'too large');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Refused below, like any other body that is no object.
  }
  throw new DemoRefusal(400, 'the body must be a JSON object');
}

function checkedFault(name: string | null): DemoFault | null {
  if (name === null) return null;
  const fault = parseDemoFault(name);
  if (fault === null) throw new DemoRefusal(400, `no such fault: ${name}`);
  return fault;
}

/** Ends early when the client leaves. */
async function pause(ms: number, response: http.ServerResponse): Promise<void> {
  if (ms <= 0 || response.destroyed) return;
  const left = new AbortController();
  const leave = (): void => left.abort();
  response.once('close', leave);
  await sleep(ms, undefined, { signal: left.signal }).catch(() => undefined);
  response.off('close', leave);
}

async function closed(response: http.ServerResponse): Promise<void> {
  if (!response.destroyed) await new Promise((resolve) => response.once('close', resolve));
}

async function drained(response: http.ServerResponse): Promise<void> {
  if (response.destroyed) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.once('drain', done).once('close', done);
  });
}
