import assert from 'node:assert/strict';
import http2 from 'node:http2';
import net from 'node:net';
import { beforeEach, describe, test } from 'node:test';
import { waitUntil } from '../../src/app/wait-until.ts';
import type { LedgerEvent } from '../../src/core/ledger-event.ts';
import type { ScriptChunk, UpstreamScript } from '../support/upstream-script.ts';
import { chatClient, question } from './chat-client.ts';
import { chunk, PROMPT_TOKENS, streamAnswer, usageOf, wholeAnswer } from './openai-answers.ts';
import { inTime } from '../support/in-time.ts';
import { useGateway } from '../support/use-gateway.ts';

const WORDS = 50;
/** Of an answer that goes on for seconds, whoever leaves it. */
const MANY_WORDS = 2000;
/** The upstream's connection must be closed within this after the client left. */
const PROMPT_CLOSE_MS = 500;
const PRICE = { prompt_per_mtok: 1000, completion_per_mtok: 2000 };

type Leave = 'fin' | 'rst' | 'half-close' | 'http2-cancel';

let turn = 0;

const { gateway, upstream } = await useGateway({
  config: ([upstream]) => ({
    backends: [{ name: 'a', endpoints: [{ url: `${upstream.url}/v1` }] }],
    models: [{ name: 'm', deployments: [{ backend: 'a', price: PRICE }] }],
  }),
});
const port = Number(new URL(gateway.url).port);
beforeEach(() => upstream.clear());

describe('a client that leaves a stream after', () => {
  for (const words of [1, 2, 5, 10, 25, 49]) {
    for (const running of [false, true]) {
      for (const leave of ['fin', 'rst', 'half-close', 'http2-cancel'] as const) {
        test(`${words} of ${WORDS} words by ${leave}, ${running ? 'usage on each chunk' : 'no usage yet'}`, () =>
          inTime(async () => {
            // Silence after these words: the upstream's own count is exact.
            upstream.clear();
            upstream.respondWith(wordsThen(words, running, [{ hang: true }]));
            const tenant = nextTenant();
            const leftAt = await leaveAfter({ words, leave, tenant });
            const own = await onlyEvent(tenant);
            assert.equal(own.status, 'client_aborted');
            assertCharged(own, words, words);
            if (running) assert.equal(own.promptTokens, PROMPT_TOKENS, "the upstream's word about the prompt");
            return closedLate(leftAt);
          }));
      }
    }
  }
});

test('a client that leaves while words flow is charged what was sent', async () => {
  for (const words of [1, 7, 20, 40])
    await inTime(async () => {
      upstream.clear();
      upstream.respondWith(streamAnswer({ words: MANY_WORDS, paceMs: 4 }));
      const tenant = nextTenant();
      const leftAt = await leaveAfter({ words, leave: 'rst', tenant });
      const own = await onlyEvent(tenant);
      const late = await closedLate(leftAt);
      // The first piece that was sent is the role.
      const sent = (upstream.requests[0]?.sentAt.length ?? 0) - 1;
      assert.ok(sent < MANY_WORDS, 'the upstream went on to the end');
      assertCharged(own, words, sent);
      return late;
    });
});

test('a client that leaves before the first word is charged its prompt', async () => {
  for (const answer of [{ hang: true }, wordsThen(0, false, [{ hang: true }])] satisfies UpstreamScript[])
    await inTime(() => leaveWaiting(answer, { stream: true }));
});

test('a client that leaves a plain request stops the upstream and is charged its prompt', () =>
  inTime(() => leaveWaiting({ hang: true }, {})));

/** A client that has seen nothing leaves: by how many milliseconds the upstream's connection was closed too late. */
async function leaveWaiting(answer: UpstreamScript, extra: { readonly stream?: boolean }): Promise<number> {
  upstream.clear();
  upstream.respondWith(answer);
  const tenant = nextTenant();
  const leave = new AbortController();
  const send = chatClient(gateway, await gateway.token({ tenant }));
  const asked = send(question('m', extra), { signal: leave.signal });
  await upstream.waitForRequests(1);
  const leftAt = performance.now();
  leave.abort();
  await assert.rejects(asked);
  const own = await onlyEvent(tenant);
  assert.equal(own.status, 'client_aborted');
  assert.equal(own.completionTokens, 0);
  assert.ok(own.promptTokens > 0 && own.cost > 0, 'never free');
  return closedLate(leftAt);
}

test('a client that leaves before its request is whole costs nothing and reaches no upstream', async () => {
  const tenant = nextTenant();
  const token = await gateway.token({ tenant });
  const socket = net.connect({ port, host: '127.0.0.1' });
  socket.write(head(token, 1000) + '{"model":"m","mess');
  await waitUntil(async () => (await activeRequests()) > 0, { timeoutMs: 10_000 });
  socket.resetAndDestroy();
  await waitUntil(async () => (await activeRequests()) === 0, { timeoutMs: 10_000 });
  upstream.respondWith(wholeAnswer());
  assert.equal((await chatClient(gateway, token)(question('m'))).status, 200);
  assert.equal((await gateway.ledger(tenant, 1)).length, 1, 'only the whole request is booked');
  assert.equal(upstream.requests.length, 1);
});

test('usage is always asked for, and shown to those who asked', async () => {
  upstream.respondWith(streamAnswer({ words: 3 }));
  const send = chatClient(gateway, await gateway.token());
  for (const options of [undefined, {}, { include_usage: false }, { include_usage: true }]) {
    upstream.requests.length = 0;
    const reply = await send(question('m', { stream: true, ...(options && { stream_options: options }) }));
    const sent = upstream.requests[0]?.json as { stream_options?: { include_usage?: boolean } };
    assert.equal(sent.stream_options?.include_usage, true);
    const asked = options?.include_usage === true;
    assert.equal(reply.text.includes('prompt_tokens'), asked);
    assert.equal(reply.events.length, asked ? 7 : 6);
    assert.equal(reply.events.at(-1), '[DONE]');
  }
});

test('a client that reads all and then resets is charged once, by the usage', async () => {
  upstream.respondWith(streamAnswer({ words: WORDS }));
  const tenant = nextTenant();
  await leaveAfter({ words: WORDS, leave: 'rst', tenant, andDone: true });
  const own = await onlyEvent(tenant);
  assert.equal(own.status, 'complete');
  assert.deepEqual([own.promptTokens, own.completionTokens], [PROMPT_TOKENS, WORDS]);
});

/** A role, so many words (each with a running total if wanted), then these steps. */
function wordsThen(words: number, running: boolean, steps: readonly ScriptChunk[]): UpstreamScript {
  const said = Array.from({ length: words }, (_, at) =>
    chunk({ content: ` word${at + 1}` }, null, running ? { usage: usageOf(at + 1) } : {}),
  );
  const role = chunk({ role: 'assistant', content: '' }, null, running ? { usage: usageOf(0) } : {});
  return { status: 200, headers: { 'content-type': 'text/event-stream' }, chunks: [role, ...said, ...steps] };
}

interface LeaveOptions {
  readonly words: number;
  readonly leave: Leave;
  readonly tenant: string;
  /** Read on to `[DONE]`. */
  readonly andDone?: boolean;
}

/** Asks for a stream, reads so many words and leaves. Resolves with the time at which it left. */
async function leaveAfter({ words, leave, tenant, andDone = false }: LeaveOptions): Promise<number> {
  const token = await gateway.token({ tenant });
  const body = JSON.stringify(question('m', { stream: true }));
  const enough = (text: string): boolean =>
    andDone ? text.includes('[DONE]') : (text.match(/"content":" ?w/g)?.length ?? 0) >= words;
  return leave === 'http2-cancel' ? leaveHttp2(token, body, enough) : leaveHttp1(token, body, leave, enough);
}

function leaveHttp1(token: string, body: string, leave: Leave, enough: (text: string) => boolean): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    let text = '';
    let left = false;
    socket.on('error', reject);
    socket.write(head(token, Buffer.byteLength(body)) + body);
    socket.on('data', (data) => {
      text += data.toString();
      if (left || !enough(text)) return;
      left = true;
      if (leave === 'rst') socket.resetAndDestroy();
      else if (leave === 'fin') socket.destroy();
      else socket.end();
      resolve(performance.now());
    });
  });
}

function leaveHttp2(token: string, body: string, enough: (text: string) => boolean): Promise<number> {
  return new Promise((resolve, reject) => {
    const session = http2.connect(gateway.origin);
    session.on('error', reject);
    const stream = session.request({
      ':method': 'POST',
      ':path': '/v1/chat/completions',
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
    });
    let text = '';
    stream.on('data', (data: Buffer) => {
      text += data.toString();
      if (stream.closed || !enough(text)) return;
      stream.close(http2.constants.NGHTTP2_CANCEL);
      resolve(performance.now());
    });
    // The connection stays for a while: it is the stream alone that tells.
    stream.on('close', () => setTimeout(() => session.close(), PROMPT_CLOSE_MS));
    stream.on('error', () => undefined);
    stream.end(body);
  });
}

function head(token: string, length: number): string {
  return [
    'POST /v1/chat/completions HTTP/1.1',
    'host: gateway',
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    `content-length: ${length}`,
    '',
    '',
  ].join('\r\n');
}

/** The tenant's only cost event, once its reservation is settled. */
async function onlyEvent(tenant: string): Promise<LedgerEvent> {
  await gateway.ledger(tenant, 1);
  await waitUntil(async () => (await gateway.stores.ledger.open()) === 0, { timeoutMs: 10_000 });
  const events = await gateway.ledger(tenant, 1);
  assert.equal(events.length, 1, 'charged exactly once');
  const [own] = events;
  assert.ok(own !== undefined);
  assert.equal(own.chargedTo, 'tenant');
  return own;
}

/** Between nine tenths of what reached the client for sure and eleven of what the upstream sent at most. */
function assertCharged(own: LedgerEvent, atLeast: number, atMost: number): void {
  const { completionTokens, promptTokens, cost } = own;
  assert.ok(completionTokens >= Math.max(1, atLeast), `${completionTokens} charged, ${atLeast} were sent`);
  assert.ok(completionTokens <= Math.ceil(atMost * 1.1), `${completionTokens} charged, ${atMost} were sent`);
  assert.ok(promptTokens > 0);
  assert.equal(cost, promptTokens * PRICE.prompt_per_mtok + completionTokens * PRICE.completion_per_mtok);
}

/** By how many milliseconds the upstream's connection was closed too late. */
async function closedLate(leftAt: number): Promise<number> {
  await waitUntil(() => closedAt() !== null, { timeoutMs: 10_000, everyMs: 5 });
  const at = closedAt();
  assert.ok(at !== null, "the upstream's connection stayed open");
  return at - leftAt - PROMPT_CLOSE_MS;
}

function closedAt(): number | null {
  return upstream.requests[0]?.abortedAt ?? null;
}

async function activeRequests(): Promise<number> {
  const stats = await gateway.envoyStats('http.tokenlat.downstream_rq_active$');
  return Object.values(stats)[0] ?? 0;
}

function nextTenant(): string {
  turn += 1;
  return `abort-${turn}`;
}
