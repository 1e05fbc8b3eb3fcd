import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { waitUntil } from '../../src/app/wait-until.ts';
import type { UpstreamScript } from '../support/upstream-script.ts';
import { chatClient, errorOf, question, type Reply, said } from './chat-client.ts';
import { chatCompletion, chunk, event, PROMPT_TOKENS, streamAnswer, textOf, wholeAnswer } from './openai-answers.ts';
import { useGateway } from '../support/use-gateway.ts';

const JSON_HEAD = { 'content-type': 'application/json' };
const STREAM_HEAD = { 'content-type': 'text/event-stream' };
const GOOD = JSON.stringify(chatCompletion(5));
/** Whatever a backend does, its client has an answer by then. */
const BOUND_MS = 3000;

const { gateway, upstream } = await useGateway({
  config: ([upstream]) => ({
    backends: [{ name: 'a', endpoints: [{ url: `${upstream.url}/v1` }] }],
    models: [{ name: 'm', deployments: [{ backend: 'a', price: { prompt_per_mtok: 10, completion_per_mtok: 20 } }] }],
    limits: { event: '64KiB', response: '256KiB' },
    timeouts: { idle: '400ms' },
    retry: { retries: 0 },
  }),
});
const send = chatClient(gateway, await gateway.token());
beforeEach(() => upstream.clear());

const many = (size: number): string => 'h'.repeat(size);

/** Answers that are refused, whole or as a stream: the client gets an error of its own dialect. */
const REFUSED: Readonly<Record<string, UpstreamScript>> = {
  'endless headers': {
    status: 200,
    headers: Array.from({ length: 200 }, (_, at) => [`x-${at}`, many(1000)] as const),
    chunks: [GOOD],
  },
  'one huge header': { status: 200, headers: { ...JSON_HEAD, 'x-huge': many(200_000) }, chunks: [GOOD] },
  'a gzip bomb': {
    status: 200,
    headers: { ...JSON_HEAD, 'content-encoding': 'gzip' },
    chunks: [{ base64: gzipSync(Buffer.alloc(20_000_000)).toString('base64') }],
  },
  'a redirect': {
    status: 302,
    headers: { location: 'http://evil.test/', 'content-type': 'text/html' },
    chunks: ['<a href="http://evil.test/">'],
  },
  'a permanent redirect': { status: 308, headers: { location: 'http://evil.test/' }, chunks: [] },
  'no content': { status: 204, headers: [], framing: 'close' },
  'not modified': { status: 304, headers: [], framing: 'close' },
  'a partial answer': {
    status: 206,
    headers: { ...JSON_HEAD, 'content-range': 'bytes 0-9/100' },
    chunks: [GOOD.slice(0, 10)],
  },
  'two lengths': {
    status: 200,
    headers: [
      ['content-type', 'application/json'],
      ['content-length', '10'],
      ['content-length', '20'],
    ],
    chunks: [GOOD],
  },
  'a length and chunks': {
    status: 200,
    headers: { ...JSON_HEAD, 'content-length': '10', 'transfer-encoding': 'chunked' },
    framing: 'chunked',
    chunks: [GOOD],
  },
  'a switch of protocols': {
    status: 101,
    headers: { upgrade: 'websocket', connection: 'Upgrade' },
    framing: 'close',
    chunks: ['x'],
  },
  'a list': { status: 200, headers: JSON_HEAD, chunks: ['[1,2,3]'] },
  null: { status: 200, headers: JSON_HEAD, chunks: ['null'] },
  'an answer over the limit': {
    status: 200,
    headers: JSON_HEAD,
    chunks: [{ repeat: [' ', 300_000], split_every: 10_000 }, GOOD],
  },
  'an answer that never ends': {
    status: 200,
    headers: JSON_HEAD,
    framing: 'chunked',
    chunks: [{ repeat: ['[', 100_000_000], split_every: 1_000_000 }],
  },
  'deep JSON': {
    status: 200,
    headers: JSON_HEAD,
    chunks: ['{"choices":', '['.repeat(100_000), ']'.repeat(100_000), '}'],
  },
};

for (const stream of [false, true]) {
  describe(stream ? 'asked for a stream' : 'asked for a whole answer', () => {
    for (const [name, script] of Object.entries(REFUSED)) {
      test(name, async () => {
        upstream.respondWith(script);
        const reply = await bounded({ stream });
        assert.equal(reply.broken, false, reply.text.slice(-300));
        assert.ok(reply.status >= 500 && reply.status <= 504, `${reply.status} ${reply.text.slice(0, 300)}`);
        assert.deepEqual(Object.keys(errorOf(reply)), ['message', 'type', 'param', 'code'], reply.text.slice(0, 300));
        assertNothingPassed(reply);
        await assertAlive();
      });
    }
  });
}

describe('a stream that misbehaves', () => {
  test('an event without an end', async () => {
    upstream.respondWith({
      status: 200,
      headers: STREAM_HEAD,
      chunks: [chunk({ content: 'w1' }), 'data: ', { repeat: ['x', 20_000_000], split_every: 100_000 }, { hang: true }],
    });
    const reply = await bounded({ stream: true });
    assert.equal(errorOf(reply)['code'], 'upstream_response_too_large', reply.text.slice(-300));
    assert.equal(said(reply.events), 'w1');
    assert.ok(
      await waitUntil(() => upstream.requests[0]?.abortedAt !== null, { timeoutMs: 15_000 }),
      'it goes on being read',
    );
    await assertAlive();
  });

  test('a byte at a time', async () => {
    const script = streamAnswer();
    assert.ok('chunks' in script);
    const bytes = (script.chunks ?? []).filter((part) => typeof part === 'string').join('');
    upstream.respondWith({ status: 200, headers: STREAM_HEAD, chunks: [{ repeat: [bytes, 1], split_every: 1 }] });
    const reply = await bounded({ stream: true });
    assert.equal(said(reply.events), textOf(5));
    assert.equal(reply.events.at(-1), '[DONE]');
  });

  test('text of several bytes cut at each of them', async () => {
    const content = '语言 😀 👩‍👩‍👧 ż';
    const bytes = chunk({ content }) + chunk({}, 'stop') + 'data: [DONE]\n\n';
    upstream.respondWith({ status: 200, headers: STREAM_HEAD, chunks: [{ repeat: [bytes, 1], split_every: 1 }] });
    assert.equal(said((await bounded({ stream: true })).events), content);
  });

  test('words after [DONE]', async () => {
    upstream.respondWith({
      status: 200,
      headers: STREAM_HEAD,
      chunks: [
        chunk({ content: 'w1' }),
        chunk({}, 'stop'),
        'data: [DONE]\n\n',
        chunk({ content: ' evil' }),
        'data: [DONE]\n\n',
      ],
    });
    const reply = await bounded({ stream: true });
    assert.equal(said(reply.events), 'w1');
    assert.equal(reply.events.filter((data) => data === '[DONE]').length, 1);
    const own = await bookedFor(reply);
    assert.ok(own.completionTokens <= 2, 'what nobody saw is not charged');
  });

  test('[DONE] within the text is text', async () => {
    upstream.respondWith({
      status: 200,
      headers: STREAM_HEAD,
      chunks: [
        chunk({ content: 'data: [DONE]\n\ndata: x' }),
        chunk({ content: ' more' }),
        chunk({}, 'stop'),
        'data: [DONE]\n\n',
      ],
    });
    const reply = await bounded({ stream: true });
    assert.equal(said(reply.events), 'data: [DONE]\n\ndata: x more');
    assert.match(reply.text, /"finish_reason":"stop"/);
  });

  test('other line ends, fields and comments', async () => {
    const bytes = `: hello\r\nid: 7\r\nretry: 1\r\nevent: message\r\ndata:${chunk({ content: 'w1' }).slice(6).trim()}\r\n\r\n${chunk({}, 'stop').replaceAll('\n', '\r')}data: [DONE]\r\r`;
    upstream.respondWith({ status: 200, headers: STREAM_HEAD, chunks: [bytes] });
    const reply = await bounded({ stream: true });
    assert.equal(said(reply.events), 'w1');
    assert.equal(reply.events.at(-1), '[DONE]');
  });

  test('control characters and NUL', async () => {
    upstream.respondWith({
      status: 200,
      headers: STREAM_HEAD,
      chunks: [chunk({ content: 'a\u0000b\u001b[31m\u2028' }), chunk({}, 'stop'), 'data: [DONE]\n\n'],
    });
    assert.equal(said((await bounded({ stream: true })).events), 'a\u0000b\u001b[31m\u2028');
    upstream.respondWith({
      status: 200,
      headers: STREAM_HEAD,
      chunks: [chunk({ content: 'w1' }), 'data: {"a":"\u0000"}\n\n'],
    });
    assert.equal(errorOf(await bounded({ stream: true }))['code'], 'upstream_invalid_response');
  });

  test('no more than a heartbeat', async () => {
    // Each beat is a sign of life, but no answer: the deadline ends it.
    upstream.respondWith({
      status: 200,
      headers: STREAM_HEAD,
      chunks: Array.from({ length: 100 }, () => [': beat\n\n', { delay_ms: 50 }]).flat(),
    });
    const reply = await bounded({ stream: true }, { 'x-request-timeout-ms': '500' });
    assert.equal(reply.broken, false);
    assert.ok(reply.status === 504 || reply.text.endsWith('data: [DONE]\n\n'), reply.text.slice(-200));
    assert.ok(
      await waitUntil(() => upstream.requests[0]?.abortedAt !== null, { timeoutMs: 15_000 }),
      'it goes on being read',
    );
  });

  test('a role and then an error: nothing was said yet', async () => {
    upstream.respondWith(
      streamAnswer({
        words: 0,
        thenInstead: [event({ error: { message: 'no', type: 'server_error', param: null, code: null } })],
      }),
    );
    const reply = await bounded({ stream: true });
    assert.equal(errorOf(reply)['message'], 'no');
    assert.equal((await bookedFor(reply)).completionTokens, 0);
  });
});

describe('usage that cannot be', () => {
  const forged: readonly unknown[] = [
    { prompt_tokens: -5, completion_tokens: -7, total_tokens: -12 },
    { prompt_tokens: 1e308, completion_tokens: 1e308, total_tokens: 1e308 },
    { prompt_tokens: '7', completion_tokens: '5' },
    { prompt_tokens: 7.5, completion_tokens: 5 },
    { prompt_tokens: 7, completion_tokens: 5, total_tokens: 3 },
    { prompt_tokens: 7, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 9 } },
    { prompt_tokens: null, completion_tokens: null },
    'many',
    [],
    {},
  ];
  for (const usage of forged) {
    for (const stream of [false, true]) {
      test(`${JSON.stringify(usage)}, ${stream ? 'stream' : 'whole'}`, async () => {
        upstream.respondWith(
          stream
            ? streamAnswer({ thenInstead: [chunk({}, 'stop'), event({ choices: [], usage }), 'data: [DONE]\n\n'] })
            : { status: 200, headers: JSON_HEAD, chunks: [JSON.stringify({ ...chatCompletion(5), usage })] },
        );
        const reply = await bounded({ stream });
        assert.equal(reply.status, 200, reply.text);
        const own = await bookedFor(reply);
        assert.ok(own.estimated, 'it was believed');
        assert.ok(own.usageFlag !== null, 'it was not flagged');
        assert.ok(own.completionTokens >= 1 && own.completionTokens <= 20, `${own.completionTokens} tokens`);
        assert.ok(own.promptTokens >= 1 && own.promptTokens <= 50);
        assert.equal(own.cost, own.promptTokens * 10 + own.completionTokens * 20);
      });
    }
  }

  test('a usage that is far off is kept, and flagged', async () => {
    upstream.respondWith({
      status: 200,
      headers: JSON_HEAD,
      chunks: [
        JSON.stringify({
          ...chatCompletion(5),
          usage: { prompt_tokens: PROMPT_TOKENS, completion_tokens: 90_000, total_tokens: 90_000 + PROMPT_TOKENS },
        }),
      ],
    });
    const own = await bookedFor(await bounded({}));
    assert.ok(own.usageFlag !== null, 'nobody is told');
  });
});

test('interim answers do not confuse', async () => {
  upstream.respondWith({ status: 103, headers: { link: '</x>; rel=preload' }, chunks: [], framing: 'close' });
  const reply = await bounded({});
  assert.ok(reply.status >= 500, `${reply.status}`);
  await assertAlive();
});

async function bounded(extra: Record<string, unknown>, headers: Record<string, string> = {}): Promise<Reply> {
  const began = performance.now();
  const reply = await send(question('m', extra), { headers });
  assert.ok(performance.now() - began < BOUND_MS, `${Math.round(performance.now() - began)} ms`);
  return reply;
}

function assertNothingPassed(reply: Reply): void {
  for (const name of ['location', 'content-range', 'upgrade', 'content-encoding', 'x-huge', 'x-0', 'link']) {
    assert.equal(reply.headers.get(name), null, name);
  }
  assert.ok(!reply.text.includes('evil.test'));
}

async function assertAlive(): Promise<void> {
  upstream.respondWith(wholeAnswer());
  const reply = await send(question('m'));
  assert.equal(reply.status, 200, reply.text);
}

async function bookedFor(reply: Reply) {
  const find = async () => (await gateway.ledger('acme', 1)).filter((one) => one.requestId === reply.requestId);
  assert.ok(await waitUntil(async () => (await find()).length > 0, { timeoutMs: 15_000 }), 'not booked');
  const [own, ...more] = await find();
  assert.ok(own !== undefined && more.length === 0, 'booked once');
  assert.ok(Number.isSafeInteger(own.cost) && own.cost >= 0);
  return own;
}
