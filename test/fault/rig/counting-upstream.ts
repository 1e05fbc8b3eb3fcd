import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** What the upstream did for one request of the load. */
export interface Served {
  /** Requests that came for it. */
  calls: number;
  promptTokens: number;
  /** Tokens handed to the socket. */
  completionTokens: number;
  /** The whole answer was handed to the socket. */
  whole: boolean;
}

export interface CountingUpstream {
  readonly port: number;
  /** By the id in the prompt. */
  readonly served: ReadonlyMap<string, Served>;
  /** Requests without the credential that only the gateway knows: nobody judged them. */
  readonly unjudged: () => number;
  /** Never answers while it is true. */
  hang: boolean;
  /** Answers nothing before it. */
  gate: Promise<unknown>;
  readonly clear: () => void;
  readonly close: () => Promise<void>;
}

/** The prompt by which a request of the load tells this server what to do. */
export function orderOf(id: string, tokens: number, delayMs: number, width = 1): string {
  return `order ${id} tokens ${tokens} delay ${delayMs} width ${width}`;
}

const ORDER = /order (\S+) tokens (\d+) delay (\d+) width (\d+)/;

/** An OpenAI server that keeps its own books, to hold the ledger against. Each word is a token. */
export async function startCountingUpstream(credential: string): Promise<CountingUpstream> {
  const served = new Map<string, Served>();
  let unjudged = 0;
  const upstream = { hang: false, gate: Promise.resolve() as Promise<unknown> };
  const server = http.createServer((request, response) => {
    if (request.headers.authorization !== `Bearer ${credential}`) unjudged += 1;
    response.on('error', () => {});
    readJson(request)
      .then(async (body) => {
        await upstream.gate;
        if (!upstream.hang) await answer(body, response, served);
      })
      .catch(() => response.destroy());
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return Object.assign(upstream, {
    port: (server.address() as AddressInfo).port,
    served,
    unjudged: () => unjudged,
    clear: () => {
      served.clear();
      unjudged = 0;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

interface Ask {
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
  readonly messages: readonly { readonly content: string }[];
}

async function readJson(request: http.IncomingMessage): Promise<Ask> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString()) as Ask;
}

async function answer(ask: Ask, response: http.ServerResponse, served: Map<string, Served>): Promise<void> {
  const content = ask.messages.at(-1)?.content ?? '';
  const [, id = 'none', tokens = '1', delay = '0', width = '1'] = ORDER.exec(content) ?? [];
  const record = served.get(id) ?? { calls: 0, promptTokens: 0, completionTokens: 0, whole: false };
  served.set(id, record);
  record.calls += 1;
  record.promptTokens += content.split(' ').length;
  const usage = {
    prompt_tokens: content.split(' ').length,
    completion_tokens: Number(tokens),
    total_tokens: content.split(' ').length + Number(tokens),
  };
  if (ask.stream === true)
    await stream({
      ask,
      response,
      record,
      tokens: Number(tokens),
      delayMs: Number(delay),
      width: Number(width),
      usage,
    });
  else {
    await sleep(Number(tokens) * Number(delay));
    if (response.destroyed) return;
    record.completionTokens += Number(tokens);
    const text = 'word '.repeat(Number(tokens)).trimEnd();
    const choices = [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }];
    const body = JSON.stringify({
      id: `chatcmpl-${id}`,
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices,
      usage,
    });
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  }
  record.whole = true;
}

async function stream({
  ask,
  response,
  record,
  tokens,
  delayMs,
  width,
  usage,
}: {
  readonly ask: Ask;
  readonly response: http.ServerResponse;
  readonly record: Served;
  readonly tokens: number;
  readonly delayMs: number;
  readonly width: number;
  readonly usage: object;
}): Promise<void> {
  const common = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm' };
  const say = (part: object): boolean => response.write(`data: ${JSON.stringify({ ...common, ...part })}\n\n`);
  const content = 'word '.repeat(width);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (let at = 0; at < tokens; at += 1) {
    if (delayMs > 0) await sleep(delayMs);
    if (response.destroyed) throw new Error('the client left');
    const isRoomy = say({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
    record.completionTokens += 1;
    if (!isRoomy) await roomOrEnd(response);
  }
  say({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
  if (ask.stream_options?.include_usage === true) say({ choices: [], usage });
  response.end('data: [DONE]\n\n');
}

function roomOrEnd(response: http.ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.once('drain', done).once('close', done);
  });
}
