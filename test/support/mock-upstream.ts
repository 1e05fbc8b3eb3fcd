import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpReader, type RawRequest } from './http-reader.ts';
import { type ScriptStep, type UpstreamScript, scriptSteps } from './upstream-script.ts';

/** A request that came, and what became of it. The fields of time are `performance.now()`. */
export interface MockRequest extends RawRequest {
  /** The first value of a header, whatever its case. */
  readonly header: (name: string) => string | undefined;
  /** The body parsed; undefined when it is no JSON. */
  readonly json: unknown;
  readonly receivedAt: number;
  /** Which connection it came on, counted from 1. */
  readonly connection: number;
  /** When each piece of the body was handed to the socket. */
  readonly sentAt: number[];
  /** When each `{mark}` was reached. */
  readonly marks: Map<string, number>;
  /** When the answer was sent whole. */
  endedAt: number | null;
  /** When the client closed the connection before that. */
  abortedAt: number | null;
}

export type Responder = (request: MockRequest) => UpstreamScript | Promise<UpstreamScript>;

export interface MockUpstream {
  readonly port: number;
  readonly url: string;
  /** In the order of arrival, health checks left out. */
  readonly requests: MockRequest[];
  /** When each piece of any answer was handed to its socket. */
  readonly sentAt: number[];
  /** Sets the answer: one for all, a list of which each request takes the next (the last stays), or made for each request. */
  readonly respondWith: (answer: UpstreamScript | readonly UpstreamScript[] | Responder) => void;
  /** Answers to be given first, one a request. */
  readonly queue: (...scripts: readonly UpstreamScript[]) => void;
  /** Resolves when so many requests have come in all; rejects after `timeoutMs`. */
  readonly waitForRequests: (count: number, timeoutMs?: number) => Promise<void>;
  /** Stops listening and resets every connection; `listen` takes up the same port again. */
  readonly refuse: () => Promise<void>;
  readonly listen: () => Promise<void>;
  /** Resets every open connection; new ones are welcome. */
  readonly resetConnections: () => void;
  /** Forgets requests, times and scripts. */
  readonly clear: () => void;
  readonly close: () => Promise<void>;
}

export interface MockUpstreamOptions {
  /** 0 = any free one. */
  readonly port?: number;
  readonly host?: string;
  /** `GET` on it is answered 200 and not recorded; null = like any other path. */
  readonly healthPath?: string | null;
}

const UNSCRIPTED: UpstreamScript = { status: 599, headers: { 'content-type': 'text/plain' }, chunks: ['no script'] };
const HEALTHY: UpstreamScript = { status: 200, chunks: [] };

/** A backend that plays scripts over HTTP/1.1, byte for byte: every piece is one write, with no delay by the system. */
export async function startMockUpstream(options: MockUpstreamOptions = {}): Promise<MockUpstream> {
  const { host = '127.0.0.1', healthPath = '/health' } = options;
  const sockets = new Set<net.Socket>();
  const requests: MockRequest[] = [];
  const sentAt: number[] = [];
  const waiters = new Set<() => void>();
  let queued: UpstreamScript[] = [];
  let respond: Responder = unscripted;
  let connections = 0;

  const serve = async (socket: net.Socket, connection: number): Promise<void> => {
    const reader = new HttpReader(socket);
    let current: MockRequest | null = null;
    socket.once('close', () => {
      if (current?.endedAt === null) current.abortedAt = performance.now();
    });
    for (let raw = await reader.next(); raw !== null; raw = await reader.next()) {
      if (raw.method === 'GET' && raw.path === healthPath) {
        if (!(await play(socket, HEALTHY, recorded(raw, connection), []))) return;
        continue;
      }
      const request = recorded(raw, connection);
      current = request;
      requests.push(request);
      for (const waiter of waiters) waiter();
      const script = queued.shift() ?? (await respond(request));
      if (!(await play(socket, script, request, sentAt))) return;
    }
  };
  const server = net.createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
    connections += 1;
    serve(socket, connections).catch((error: unknown) => socket.destroy(error as Error));
  });
  const bind = async (port: number): Promise<number> => {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, () => {
        server.off('error', reject);
        resolve();
      });
    });
    return (server.address() as net.AddressInfo).port;
  };
  const port = await bind(options.port ?? 0);
  const resetConnections = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  const refuse = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    resetConnections();
    await closed;
  };

  return {
    port,
    url: `http://${host}:${port}`,
    requests,
    sentAt,
    respondWith: (answer) => {
      respond = responder(answer);
    },
    queue: (...scripts) => {
      queued.push(...scripts);
    },
    waitForRequests: (count, timeoutMs = 5000) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          if (requests.length < count) return;
          clearTimeout(timer);
          waiters.delete(check);
          resolve();
        };
        const timer = setTimeout(() => {
          waiters.delete(check);
          reject(new Error(`${requests.length} of ${count} requests after ${timeoutMs} ms`));
        }, timeoutMs);
        waiters.add(check);
        check();
      }),
    refuse,
    listen: async () => {
      if (!server.listening) await bind(port);
    },
    resetConnections,
    clear: () => {
      requests.length = 0;
      sentAt.length = 0;
      queued = [];
      respond = unscripted;
    },
    close: refuse,
  };
}

function unscripted(): UpstreamScript {
  return UNSCRIPTED;
}

function responder(answer: UpstreamScript | readonly UpstreamScript[] | Responder): Responder {
  if (typeof answer === 'function') return answer;
  const list: readonly UpstreamScript[] = Array.isArray(answer) ? answer : [answer as UpstreamScript];
  let next = 0;
  return () => {
    const script = list[Math.min(next, list.length - 1)] ?? UNSCRIPTED;
    next += 1;
    return script;
  };
}

function recorded(raw: RawRequest, connection: number): MockRequest {
  let json: unknown;
  try {
    json = JSON.parse(raw.rawBody.toString('utf8'));
  } catch {
    json = undefined;
  }
  const header = (name: string): string | undefined =>
    raw.headers.find(([one]) => one.toLowerCase() === name.toLowerCase())?.[1];
  const times = { receivedAt: performance.now(), sentAt: [], marks: new Map<string, number>() };
  return { ...raw, ...times, header, json, connection, endedAt: null, abortedAt: null };
}

/** Plays one answer. True when the connection may take another request. */
async function play(
  socket: net.Socket,
  script: UpstreamScript,
  request: MockRequest,
  sentAt: number[],
): Promise<boolean> {
  if ('hang' in script) return hang(socket);
  if ('close_after_request' in script) {
    request.endedAt = performance.now();
    if (script.close_after_request === 'rst') socket.resetAndDestroy();
    else socket.end();
    return false;
  }
  const steps = scriptSteps(script.chunks ?? []);
  const headers = Array.isArray(script.headers) ? script.headers : Object.entries(script.headers ?? {});
  const framing = script.framing ?? framingOf(headers, steps);
  const isChunked = framing === 'chunked';
  if (!(await write(socket, headBytes(script.status, headers, framing, steps)))) return false;
  for (const step of steps) {
    if (step.kind === 'send') {
      if (step.bytes.length === 0) continue;
      const now = performance.now();
      request.sentAt.push(now);
      sentAt.push(now);
      if (!(await write(socket, isChunked ? chunkBytes(step.bytes) : step.bytes))) return false;
    } else if (step.kind === 'mark') {
      request.marks.set(step.name, performance.now());
    } else if (step.kind === 'delay') {
      await sleep(step.ms);
    } else if (step.kind === 'hang') {
      return hang(socket);
    } else {
      request.endedAt = performance.now();
      // Bytes that are still on their way would be thrown away by a reset at once.
      await sleep(20);
      if (step.kind === 'abort') socket.resetAndDestroy();
      else socket.end();
      return false;
    }
  }
  if (isChunked && !(await write(socket, Buffer.from('0\r\n\r\n')))) return false;
  request.endedAt = performance.now();
  const mustClose =
    framing === 'close' || headers.some(([name, value]) => /^connection$/i.test(name) && /close/i.test(value));
  if (mustClose) socket.end();
  return !mustClose;
}

type Headers = readonly (readonly [name: string, value: string])[];

function framingOf(headers: Headers, steps: readonly ScriptStep[]): 'length' | 'chunked' {
  const has = (wanted: RegExp): boolean => headers.some(([name, value]) => wanted.test(`${name}: ${value}`));
  if (has(/^content-length:/i)) return 'length';
  if (has(/^transfer-encoding: chunked/i) || has(/^content-type: text\/event-stream/i)) return 'chunked';
  return steps.some(({ kind }) => kind === 'abort' || kind === 'close' || kind === 'hang') ? 'chunked' : 'length';
}

function headBytes(status: number, headers: Headers, framing: string, steps: readonly ScriptStep[]): Buffer {
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  const missing = (name: string): boolean => !headers.some(([one]) => one.toLowerCase() === name);
  const length = steps.reduce((sum, step) => sum + (step.kind === 'send' ? step.bytes.length : 0), 0);
  if (framing === 'chunked' && missing('transfer-encoding')) lines.push('transfer-encoding: chunked');
  if (framing === 'length' && missing('content-length')) lines.push(`content-length: ${length}`);
  if (framing === 'close' && missing('connection')) lines.push('connection: close');
  return Buffer.from([`HTTP/1.1 ${status} Scripted`, ...lines, '', ''].join('\r\n'), 'latin1');
}

function chunkBytes(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}

/** Resolves when the system has the bytes, so that pieces go out one by one. False when the connection is gone. */
async function write(socket: net.Socket, bytes: Buffer): Promise<boolean> {
  if (!socket.writable) return false;
  // The callback also comes, with an error, when the socket is destroyed first.
  const error = await new Promise<unknown>((resolve) => {
    socket.write(bytes, resolve);
  });
  return (error === undefined || error === null) && !socket.destroyed;
}

async function hang(socket: net.Socket): Promise<false> {
  if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve));
  return false;
}
