import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { waitUntil } from '../../src/app/wait-until.ts';
import { chatClient, errorOf, question, type Reply, said } from './chat-client.ts';
import { chunk, event, streamAnswer, textOf, usageOf, wholeAnswer } from './openai-answers.ts';
import { inTime } from '../support/in-time.ts';
import { useGateway } from '../support/use-gateway.ts';

interface Chunk {
  readonly id: string;
  readonly choices: readonly { readonly finish_reason: string | null }[];
}

const LIMIT_MS = 500;
/** What an answer at the deadline may lag behind it. */
const LAG_MS = 250;

const { gateway, upstream } = await useGateway({
  config: ([upstream]) => ({
    backends: [{ name: 'a', endpoints: [{ url: `${upstream.url}/v1` }] }],
    models: [{ name: 'm', deployments: [{ backend: 'a', price: { prompt_per_mtok: 1, completion_per_mtok: 2 } }] }],
    timeouts: { request: '10s', max_request: '20s', idle: '30s' },
  }),
  atEnd: (running) => {
    const lines = running.envoyLog().split('\n');
    const complaints = lines.filter((line) => /\]\[(?:warning|error)\]/.test(line));
    assert.deepEqual(complaints, [], 'Envoy complains');
  },
});
const send = chatClient(gateway, await gateway.token());
beforeEach(() => upstream.clear());

for (const [name, includeUsage] of [
  ['without usage', false],
  ['with usage', true],
] as const) {
  test(`a stream is cut with finish_reason length, ${name}`, async () => {
    upstream.respondWith(streamAnswer({ words: 3, thenInstead: [{ hang: true }] }));
    const reply = await timed({ stream: true, ...(includeUsage && { stream_options: { include_usage: true } }) });
    assert.equal(reply.status, 200);
    assert.equal(reply.broken, false);
    assert.equal(said(reply.events), textOf(3));
    assert.equal(reply.events.at(-1), '[DONE]');
    const chunks = reply.events.slice(0, -1).map((data) => JSON.parse(data) as Chunk);
    const last = chunks.findLast((one) => one.choices.length > 0);
    assert.equal(last?.choices[0]?.finish_reason, 'length');
    assert.equal(new Set(chunks.map((one) => one.id)).size, 1, 'one id for all chunks');
    const usage = reply.json?.['usage'] as { completion_tokens: number; prompt_tokens: number } | undefined;
    if (includeUsage) {
      assert.equal(usage?.completion_tokens, 3);
      assert.ok((usage?.prompt_tokens ?? 0) > 0);
    } else assert.ok(!reply.text.includes('prompt_tokens'));
    const trace = await gateway.trace(reply.requestId);
    assert.equal(trace['outcome'], 'cut_by_deadline');
    const [own] = await gateway.eventsOf('acme', reply.requestId);
    assert.equal(own?.status, 'partial');
    assert.equal(own?.completionTokens, 3);
    assert.ok(
      await waitUntil(() => upstream.requests[0]?.abortedAt !== null, { timeoutMs: 10_000 }),
      'the upstream goes on',
    );
  });
}

test('every open choice of a stream is finished', async () => {
  upstream.respondWith({
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    chunks: [choice(0, { content: 'one' }), choice(1, { content: 'two' }), choice(0, {}, 'stop'), { hang: true }],
  });
  const reply = await timed({ stream: true, n: 2 });
  const finishes = reply.events
    .filter((data) => data !== '[DONE]')
    .flatMap((data) => (JSON.parse(data) as { choices: { index: number; finish_reason: string | null }[] }).choices)
    .filter((one) => one.finish_reason !== null)
    .map((one) => `${one.index} ${one.finish_reason}`);
  assert.deepEqual(finishes, ['0 stop', '1 length']);
  assert.equal(reply.events.at(-1), '[DONE]');
});

test('before the first token a stream gets a 504', async () => {
  for (const answer of [
    { hang: true } as const,
    { status: 200, headers: { 'content-type': 'text/event-stream' }, chunks: [{ hang: true }] } as const,
  ]) {
    upstream.clear();
    upstream.respondWith(answer);
    const reply = await timed({ stream: true });
    assertTimedOut(reply);
    await assertLost(reply);
  }
});

test('a stream that has begun with a comment alone is finished, for its head is gone', async () => {
  upstream.respondWith({
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    chunks: [': wait\n\n', { hang: true }],
  });
  const reply = await timed({ stream: true });
  assert.equal(reply.status, 200);
  assert.ok(reply.text.startsWith(': wait'));
  assert.match(reply.text, /"finish_reason":"length"/);
  assert.ok(reply.text.endsWith('data: [DONE]\n\n'));
});

test('a plain request gets a 504', async () => {
  const body = JSON.stringify({ object: 'chat.completion', usage: usageOf(3) });
  for (const answer of [
    { hang: true } as const,
    {
      status: 200,
      headers: { 'content-type': 'application/json' },
      chunks: [body.slice(0, 30), { hang: true }],
    } as const,
  ]) {
    upstream.clear();
    upstream.respondWith(answer);
    const reply = await timed({});
    assertTimedOut(reply);
    await assertLost(reply);
  }
});

test('a stream that is faster than its deadline is left alone', async () => {
  upstream.respondWith(streamAnswer());
  const reply = await timed({ stream: true });
  assert.equal(said(reply.events), textOf(5));
  assert.match(reply.text, /"finish_reason":"stop"/);
});

test('words that come at the deadline come whole or not at all', async () => {
  upstream.respondWith(streamAnswer({ words: 400, paceMs: 2 }));
  const reply = await timed({ stream: true });
  const words = said(reply.events);
  assert.ok(words.length > 0);
  assert.ok(textOf(400).startsWith(words), 'words in between are missing');
  assert.equal(reply.events.at(-1), '[DONE]');
  assert.equal(reply.events.filter((data) => data.includes('"finish_reason":"length"')).length, 1);
});

test('a body that comes too slowly is refused with 408', async () => {
  const token = await gateway.token();
  await inTime(async () => {
    const abort = new AbortController();
    const began = performance.now();
    const response = await fetch(`${gateway.url}/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'x-request-timeout-ms': String(LIMIT_MS),
      },
      body: new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('{"model":')) }),
      duplex: 'half',
      signal: abort.signal,
    });
    assert.equal(response.status, 408);
    assert.equal(((await response.json()) as { error: { code: string } }).error.code, 'request_timeout');
    const late = performance.now() - began - LIMIT_MS - LAG_MS;
    assert.equal(upstream.requests.length, 0);
    abort.abort();
    return late;
  });
});

test('a wish that makes no sense is refused', async () => {
  for (const wish of ['0', '-1', '1.5', 'soon', '1e3', '', ' ', '9999999999']) {
    const reply = await send(question('m'), { headers: { 'x-request-timeout-ms': wish } });
    // An empty header is no header to Envoy's eyes, or an empty wish: both ways no deadline of zero.
    assert.equal(reply.status, 400, `x-request-timeout-ms: ${wish}`);
    assert.equal(errorOf(reply)['param'], 'x-request-timeout-ms');
  }
  assert.equal(upstream.requests.length, 0);
});

test('a deadline of 1 ms ends in an answer, not in a hang', async () => {
  upstream.respondWith(wholeAnswer());
  for (const stream of [false, true]) {
    const reply = await send(question('m', { stream }), { headers: { 'x-request-timeout-ms': '1' } });
    assert.ok([200, 408, 504].includes(reply.status), reply.text);
    assert.equal(reply.broken, false);
  }
});

test('what is left of an answer is not read twice', async () => {
  // The finish comes, the usage does not: the answer is whole, and its deadline does not change it.
  upstream.respondWith(streamAnswer({ words: 2, thenInstead: [chunk({}, 'stop'), { hang: true }] }));
  const reply = await timed({ stream: true });
  assert.equal(reply.events.at(-1), '[DONE]');
  assert.equal(reply.events.filter((data) => /"finish_reason":"(?:stop|length)"/.test(data)).length, 1);
});

/** A chunk of one choice among several. */
function choice(index: number, delta: object, finish: string | null = null): string {
  const choices = [{ index, delta, finish_reason: finish }];
  return event({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'x', choices });
}

/** Asks with a deadline, and again where the answer does not keep it: one of three must. */
async function timed(extra: Record<string, unknown>): Promise<Reply> {
  let reply: Reply | undefined;
  await inTime(async () => {
    upstream.requests.length = 0;
    const began = performance.now();
    reply = await send(question('m', extra), { headers: { 'x-request-timeout-ms': String(LIMIT_MS) } });
    return performance.now() - began - LIMIT_MS - LAG_MS;
  });
  return reply ?? assert.fail();
}

/** The backend may charge for the prompt, which is the gateway's cost; the client pays nothing. */
async function assertLost({ requestId }: Reply): Promise<void> {
  const events = await gateway.eventsOf('acme', requestId);
  assert.deepEqual(
    events.map(({ chargedTo, attempt, status, completionTokens, usageFlag, estimated, cost, promptTokens }) => [
      [chargedTo, attempt, status, completionTokens, usageFlag, estimated].join(' '),
      cost > 0 && cost === promptTokens,
    ]),
    [
      ['gateway 1 error 0 unanswered true', true],
      ['tenant 0 error 0  false', false],
    ],
  );
}

function assertTimedOut(reply: Reply): void {
  assert.equal(reply.status, 504, reply.text);
  assert.equal(errorOf(reply)['code'], 'upstream_timeout');
  assert.equal(errorOf(reply)['type'], 'timeout');
  assert.equal(reply.headers.get('x-timeout-reason'), 'upstream_timeout');
  assert.equal(reply.headers.get('x-request-id'), reply.requestId);
  assert.equal(reply.headers.get('content-type'), 'application/json');
}
