import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { chatClient, errorOf, question } from './chat-client.ts';
import { chatCompletion, chunk, event, usageOf, wholeAnswer } from './openai-answers.ts';
import { rawExchange } from './raw-exchange.ts';
import { useGateway } from '../support/use-gateway.ts';

const MIB = 1024 * 1024;
const LIMIT = 8 * MIB;
const RESPONSE_LIMIT = 8 * MIB;
const EVENT_LIMIT = MIB;

const { gateway, upstream } = await useGateway({
  config: ([upstream]) => ({
    backends: [{ name: 'a', endpoints: [{ url: `${upstream.url}/v1` }] }],
    models: [{ name: 'm', deployments: [{ backend: 'a', profile: { context: 100_000_000, default_max_tokens: 10 } }] }],
    limits: { body: '8MiB', response: '8MiB', event: '1MiB' },
  }),
});
const token = await gateway.token();
const send = chatClient(gateway, token);
beforeEach(() => upstream.clear());

test('a request of 6 MiB arrives byte for byte', async () => {
  upstream.respondWith(wholeAnswer());
  // Text of more than one script: pieces are cut within characters.
  const content = 'Zażółć gęślą jaźń 语言模型 😀 '.repeat(Math.ceil((6 * MIB) / 58)).slice(0, 4_000_000);
  const body = JSON.stringify({
    model: 'm',
    messages: [{ role: 'user', content }],
    big: 12345678901234567890n.toString(),
  });
  const reply = await send(body);
  assert.equal(reply.status, 200, reply.text.slice(0, 300));
  const got = upstream.requests[0];
  assert.ok(got?.rawBody.equals(Buffer.from(body)), 'the model has the same name there: not a byte may change');
  assert.equal(got?.header('content-length'), String(Buffer.byteLength(body)));
});

test('an answer of 6 MiB arrives whole', async () => {
  const content = 'głowa 语言 😀 '.repeat(Math.ceil((6 * MIB) / 20));
  const answer = JSON.stringify(chatCompletion(3, content));
  upstream.respondWith({ status: 200, headers: { 'content-type': 'application/json' }, chunks: [answer] });
  const reply = await send(question('m'));
  assert.equal(reply.status, 200, reply.text.slice(0, 300));
  assert.equal(Number(reply.headers.get('content-length')), Buffer.byteLength(reply.text));
  assert.equal((reply.json as unknown as ReturnType<typeof JSON.parse>).choices[0].message.content, content);
});

test('a stream of 6 MiB arrives whole, in events of 64 KiB', async () => {
  const piece = 'x'.repeat(64 * 1024);
  const pieces = 96;
  upstream.respondWith({
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    chunks: [
      ...Array.from({ length: pieces }, () => chunk({ content: piece })),
      chunk({}, 'stop'),
      event({ choices: [], usage: usageOf(9) }),
      'data: [DONE]\n\n',
    ],
  });
  const reply = await send(question('m', { stream: true }));
  assert.equal(reply.events.length, pieces + 2);
  assert.ok(reply.events.slice(0, pieces).every((data) => data.includes(piece)));
  assert.equal(reply.events.at(-1), '[DONE]');
});

test('a request of exactly the limit passes', async () => {
  upstream.respondWith(wholeAnswer());
  const body = bodyOf(LIMIT);
  const reply = await send(body);
  assert.equal(reply.status, 200, reply.text.slice(0, 300));
  assert.ok(upstream.requests[0]?.rawBody.equals(Buffer.from(body)));
});

test('one byte more is 413, with a length or chunked', async () => {
  const body = Buffer.from(bodyOf(LIMIT + 1));
  const headers = [
    'POST /v1/chat/completions HTTP/1.1',
    'host: g',
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    'x-request-id: too-large',
  ];
  const pieces = Array.from({ length: Math.ceil(body.length / MIB) }, (_, at) =>
    body.subarray(at * MIB, (at + 1) * MIB),
  );
  const chunked = pieces.flatMap((piece) => [`${piece.length.toString(16)}\r\n`, piece, '\r\n']);
  const table = {
    'content-length': [[...headers, `content-length: ${body.length}`, '', ''].join('\r\n'), body],
    chunked: [[...headers, 'transfer-encoding: chunked', '', ''].join('\r\n'), ...chunked, '0\r\n\r\n'],
  };
  for (const [name, writes] of Object.entries(table)) {
    const answer = await rawExchange({ port: Number(new URL(gateway.url).port), writes, timeoutMs: 5000 });
    assert.equal(answer.status, 413, `${name}: ${answer.text.slice(0, 300)}`);
    const { error } = JSON.parse(answer.body) as { error: Record<string, unknown> };
    assert.deepEqual(
      { ...error, message: typeof error['message'] },
      { message: 'string', type: 'invalid_request_error', param: null, code: 'request_too_large' },
    );
    assert.match(answer.text, /\r\ncontent-type: application\/json\r\n/i);
    assert.match(answer.text, /\r\nx-request-id: too-large\r\n/i);
    assert.match(answer.text, /\r\nx-error-source: gateway\r\n/i);
  }
  assert.equal(upstream.requests.length, 0);
});

test('a body that says it is far larger is refused without being read', async () => {
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    'host: g',
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    'content-length: 10737418240',
    '',
    '',
  ];
  const answer = await rawExchange({
    port: Number(new URL(gateway.url).port),
    writes: [head.join('\r\n'), Buffer.alloc(LIMIT + 2 * MIB, 0x20)],
    timeoutMs: 5000,
  });
  assert.equal(answer.status, 413, answer.text.slice(0, 300));
  assert.equal(upstream.requests.length, 0);
});

test('an answer of exactly the limit passes, one byte more is an error', async () => {
  for (const [size, status] of [
    [RESPONSE_LIMIT, 200],
    [RESPONSE_LIMIT + 1, 502],
  ] as const) {
    const frame = JSON.stringify(chatCompletion(3, ''));
    const answer = JSON.stringify(chatCompletion(3, 'y'.repeat(size - frame.length)));
    assert.equal(answer.length, size);
    upstream.respondWith({ status: 200, headers: { 'content-type': 'application/json' }, chunks: [answer] });
    const reply = await send(question('m'));
    assert.equal(reply.status, status, reply.text.slice(0, 300));
    if (status === 502) assert.equal(errorOf(reply)['code'], 'upstream_response_too_large');
  }
});

test('an event of the limit passes, a larger one ends the stream with an error', async () => {
  // An event is all of its lines: the name of the field and the line end count.
  const frame = chunk({ content: '' }).length - '\n'.length;
  for (const [size, good] of [
    [EVENT_LIMIT, true],
    [EVENT_LIMIT + 2, false],
  ] as const) {
    upstream.respondWith({
      status: 200,
      headers: { 'content-type': 'text/event-stream' },
      chunks: [
        chunk({ content: 'first' }),
        chunk({ content: 'z'.repeat(size - frame) }),
        chunk({}, 'stop'),
        'data: [DONE]\n\n',
      ],
    });
    const reply = await send(question('m', { stream: true }));
    assert.equal(reply.status, 200);
    assert.equal(reply.broken, false);
    assert.equal(reply.events.at(-1), '[DONE]');
    assert.equal(reply.text.includes('upstream_response_too_large'), !good, reply.text.slice(-300));
    assert.equal(reply.text.includes('"finish_reason":"stop"'), good);
  }
});

test('many large bodies at once do not wait for one another', async () => {
  upstream.respondWith(wholeAnswer());
  const body = bodyOf(4 * MIB);
  const replies = await Promise.all(Array.from({ length: 6 }, () => send(body)));
  assert.deepEqual(
    replies.map((reply) => reply.status),
    Array.from({ length: 6 }, () => 200),
  );
  assert.ok(upstream.requests.every((request) => request.rawBody.equals(Buffer.from(body))));
});

/** A request of so many bytes. */
function bodyOf(size: number): string {
  const frame = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: '' }] });
  return JSON.stringify({
    model: 'm',
    messages: [{ role: 'user', content: 'a b '.repeat(size).slice(0, size - frame.length) }],
  });
}
