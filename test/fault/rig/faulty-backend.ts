import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** What a backend does with what comes. */
export type Conduct =
  | 'answer'
  /** Status 500 at once. */
  | 'error'
  /** Status 429 at once, without a word on when to come again. */
  | 'busy'
  /** Takes the request and says nothing. */
  | 'silent'
  /** A head of status 200, and then nothing. */
  | 'silent_after_head'
  /** Half of an answer, and then the connection breaks. */
  | 'cut';

/** An OpenAI server that can be made to fail while it runs. */
export interface FaultyBackend {
  readonly port: number;
  conduct: Conduct;
  /** So many times as long as usual: until the first token, and from one to the next. */
  slowness: number;
  /** Lets nobody in, and breaks what is under way. */
  readonly shut: () => Promise<void>;
  /** On the same port. */
  readonly open: () => Promise<void>;
}

const TOKENS = 10;
const TOKEN_MS = 5;
/** Much more than what a busy machine adds: ten times as long must look so. */
const FIRST_TOKEN_MS = 80;
const USAGE = { prompt_tokens: 8, completion_tokens: TOKENS, total_tokens: 8 + TOKENS };

/** Starts one. */
export async function startFaultyBackend(): Promise<FaultyBackend> {
  const sockets = new Set<Socket>();
  let server = http.createServer();
  let port = 0;
  const open = async (): Promise<void> => {
    server = http.createServer((request, response) => void serve(request, response, backend).catch(() => {}));
    server.keepAliveTimeout = 60_000;
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    server.listen(port, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    port = (server.address() as AddressInfo).port;
  };
  const shut = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const backend = {
    conduct: 'answer' as Conduct,
    slowness: 1,
    open,
    shut,
    get port() {
      return port;
    },
  };
  await open();
  return backend;
}

async function serve(
  request: http.IncomingMessage,
  response: http.ServerResponse,
  backend: Pick<FaultyBackend, 'conduct' | 'slowness'>,
): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  const { stream = false } = JSON.parse(Buffer.concat(parts).toString()) as { readonly stream?: boolean };
  const { conduct, slowness } = backend;
  const head = { 'content-type': stream ? 'text/event-stream' : 'application/json' };
  switch (conduct) {
    case 'error':
      response.writeHead(500, { 'content-type': 'application/json' }).end('{"error":{"message":"broken"}}');
      return;
    case 'busy':
      response.writeHead(429, { 'content-type': 'application/json' }).end('{"error":{"message":"busy"}}');
      return;
    case 'silent':
      return;
    case 'silent_after_head':
      response.writeHead(200, head).flushHeaders();
      return;
    case 'cut':
    case 'answer': {
      const isCut = conduct === 'cut';
      if (stream) await answerStream(response, slowness, isCut);
      else await answerWhole(response, slowness, isCut);
      return;
    }
    default:
      conduct satisfies never;
  }
}

const COMMON = { id: 'chatcmpl-1', created: 1, model: 'm' };

async function answerWhole(response: http.ServerResponse, slowness: number, isCut: boolean): Promise<void> {
  await sleep(slowness * (FIRST_TOKEN_MS + (TOKENS - 1) * TOKEN_MS));
  const message = { role: 'assistant', content: 'word '.repeat(TOKENS) };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  const body = JSON.stringify({ ...COMMON, object: 'chat.completion', choices, usage: USAGE });
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  if (!isCut) response.end(body);
  else response.write(body.slice(0, 50), () => response.destroy());
}

async function answerStream(response: http.ServerResponse, slowness: number, isCut: boolean): Promise<void> {
  const say = (part: object): void => {
    response.write(`data: ${JSON.stringify({ ...COMMON, object: 'chat.completion.chunk', ...part })}\n\n`);
  };
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  await sleep(slowness * FIRST_TOKEN_MS);
  for (let at = 0; at < TOKENS; at += 1) {
    if (at > 0) await sleep(slowness * TOKEN_MS);
    if (isCut && at >= TOKENS / 2) return void response.destroy();
    say({ choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: null }] });
  }
  say({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
  say({ choices: [], usage: USAGE });
  response.end('data: [DONE]\n\n');
}
