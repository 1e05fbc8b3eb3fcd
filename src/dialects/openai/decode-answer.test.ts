import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { ChatEvent, DecodeContext } from '../../core/dialect.ts';
import { HeaderList } from '../../core/http.ts';
import { createOpenAiBackend, createOpenAiClient } from './dialect.ts';

const client = createOpenAiClient();
const backend = createOpenAiBackend();

// Events are looked at by the members that the test expects.
// oxlint-disable-next-line typescript/no-explicit-any
type Loose = any;

interface Setup {
  status?: number;
  headers?: Record<string, string>;
  modelShown?: string;
  body?: object;
  path?: string;
  maxAnswerBytes?: number;
}

const CHAT = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
const EMBED = { model: 'm', input: ['a', 'b'], encoding_format: 'base64' };

function run(pieces: readonly (string | Buffer)[], setup: Setup = {}): Loose[] {
  const {
    status = 200,
    headers = { 'content-type': 'application/json' },
    modelShown = 'gpt-test',
    body = CHAT,
  } = setup;
  const request = client.parse(
    { method: 'POST', path: setup.path ?? '/v1/chat/completions', headers: new HeaderList([]) },
    Buffer.from(JSON.stringify(body)),
    { jsonDepth: 64, jsonKeys: 25_000 },
  );
  const limits = { maxEventBytes: 1 << 20, maxAnswerBytes: setup.maxAnswerBytes ?? 1 << 24 };
  const context: DecodeContext = { request, deployment: {} as Loose, modelShown, answerId: 'x', created: 1, ...limits };
  const decoder = backend.decoder({ status, headers: new HeaderList(Object.entries(headers)) }, context);
  return [...pieces.flatMap((piece) => decoder.push(Buffer.from(piece))), ...decoder.end()];
}

const written = (events: readonly ChatEvent[]): string =>
  Buffer.concat(client.encoder({ stream: false, includeUsage: false }).write(events)).toString();

const answer = (message: object = { role: 'assistant', content: 'whole answer' }, rest: object = {}): string =>
  JSON.stringify({
    id: 'r1',
    object: 'chat.completion',
    created: 1,
    model: 'gpt-test',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
    ...rest,
  });

test('pieces are joined and parsed once, an empty last one is no error (ENV-02)', () => {
  const body = answer();
  for (let cut = 0; cut <= body.length; cut += 7) {
    const events = run([body.slice(0, cut), body.slice(cut), '']);
    assert.equal(written(events), body);
    assert.deepEqual(events[0].facts, {
      content: true,
      outputChars: 12,
      finishReason: 'stop',
      usage: { prompt: 7, cached: 0, completion: 3, reasoning: 0, source: 'upstream' },
      usageOnly: false,
    });
    assert.deepEqual(events.slice(1), [{ kind: 'end', clean: true }]);
  }
});

test('unknown members and digits pass; the model is renamed in place (JSON-02)', () => {
  const body =
    '{ "id":"r", "model":"up", "x":{"model":"up","big":12345678901234567890}, "choices":[{"index":0,"message":{"content":null,"tool_calls":[{"id":"t","function":{"name":"f","arguments":"{\\"ticket\\":2512292042121000001}"}}]}}] }';
  assert.equal(
    written(run([body], { modelShown: 'shown' })),
    body.replace('"model":"up", "x"', '"model":"shown", "x"'),
  );
});

test('a call without arguments becomes {}, unless it was cut off (TOOL-04, TOOL-05)', () => {
  const body = answer({
    content: null,
    tool_calls: [
      { id: 'a', function: { name: 'f', arguments: '' } },
      { id: 'b', function: { name: 'g', arguments: '{"x":1}' } },
    ],
  });
  assert.equal(written(run([body])), body.replace('"arguments":""', '"arguments":"{}"'));
  const cut = body.replace('"stop"', '"length"');
  assert.equal(written(run([cut])), cut);
});

test('a 2xx that is not the JSON promised is a failure (ERR-05)', () => {
  const long = '['.repeat(100_000);
  for (const body of [
    '<!doctype html><title>maintenance</title>',
    '',
    'null',
    '[]',
    '{"id":',
    '{}',
    '{"choices":null}',
    long,
  ]) {
    for (const type of ['text/html', 'application/json']) {
      const events = run([body], { headers: { 'content-type': type } });
      assert.deepEqual(
        events.map(({ kind, error }) => [kind, error.code, error.status]),
        [['error', 'upstream_invalid_response', 502]],
        body.slice(0, 40),
      );
      assert.ok(!written(events).includes('doctype'));
    }
  }
  const events = run([answer()], { headers: { 'content-type': 'text/event-stream' } });
  assert.equal(events[0].error.code, 'upstream_invalid_response');
});

test('a whole page in answer to a stream request is a failure', () => {
  const events = run(['<html>down</html>'], {
    headers: { 'content-type': 'text/html' },
    body: { ...CHAT, stream: true },
  });
  assert.deepEqual(
    events.map(({ error }) => error.code),
    ['upstream_invalid_response'],
  );
});

test('a coded answer is refused, for it was not asked for', () => {
  for (const coding of ['gzip', 'br', 'deflate', 'GZIP, br']) {
    const events = run([gzipSync(answer())], {
      headers: { 'content-encoding': coding, 'content-type': 'application/json' },
    });
    assert.deepEqual(
      events.map(({ error }) => error.code),
      ['upstream_invalid_response'],
    );
  }
  assert.equal(run([answer()], { headers: { 'content-encoding': 'identity' } })[0].kind, 'answer');
  const failed = run(['x'], { status: 429, headers: { 'content-encoding': 'gzip', 'retry-after': '1' } });
  assert.deepEqual([failed[0].error.code, failed[0].error.retryAfterMs], ['upstream_rate_limited', 1000]);
});

test('an answer above the bound is a typed error, told once', () => {
  const events = run([answer(), answer(), answer()], { maxAnswerBytes: 300 });
  assert.deepEqual(
    events.map(({ error }) => error.code),
    ['upstream_response_too_large'],
  );
});

test('an error page becomes one plain error object with the status kept (ERR-01)', () => {
  const page = '<html><head><title>504 Gateway Time-out</title></head></html>';
  const [event] = run([page], { status: 504, headers: { 'content-type': 'text/html' } });
  assert.deepEqual([event.error.status, event.error.code, event.error.original], [504, 'upstream_timeout', page]);
  const body = written([event]);
  assert.equal(typeof JSON.parse(body).error.message, 'string');
  assert.ok(!body.includes('<html') && !body.includes('Unexpected'));
});

test('a JSON error in OpenAI form passes unchanged with status and Retry-After (ERR-02)', () => {
  const body =
    '{"error":{"message":"context length exceeded","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"},"request_id":"r-9"}';
  const [bad] = run([body], { status: 400, headers: { 'content-type': 'application/json; charset=utf-8' } });
  assert.deepEqual(
    [bad.error.status, bad.error.code, bad.error.param, bad.error.retryable],
    [400, 'upstream_rejected', 'messages', false],
  );
  assert.equal(written([bad]), body);
  const [busy] = run([body], { status: 503, headers: { 'retry-after': '2' } });
  assert.deepEqual([busy.error.status, busy.error.code, busy.error.retryAfterMs], [503, 'upstream_overloaded', 2000]);
  assert.equal(written([busy]), body);
});

test('an error in OpenAI form that lacks fields gets those, and keeps what it says', () => {
  const given = (status: number, body: string): unknown => JSON.parse(written(run([body], { status, headers: {} })));
  assert.deepEqual(given(500, '{"error":{"message":"boom"}}'), {
    error: { message: 'boom', type: 'upstream_error', param: null, code: 'upstream_error' },
  });
  assert.deepEqual(given(400, '{"error":{"message":"no","type":null,"code":"own","hint":[1]},"id":"r-1"}'), {
    error: { message: 'no', type: 'invalid_request_error', param: null, code: 'own', hint: [1] },
    id: 'r-1',
  });
  assert.deepEqual(given(200, '{"error":{"message":"late","type":"overloaded_error","param":"n"}}'), {
    error: { message: 'late', type: 'overloaded_error', param: 'n', code: 'upstream_overloaded' },
  });
  const code = written(run(['{"error":{"code":"c","message":"m"}}'], { status: 500, headers: {} }));
  assert.equal(code, '{"error":{"message":"m","type":"upstream_error","param":null,"code":"c"}}');
  const nulls = '{"error": {"message":"m","type":"t","param":null,"code":null}}';
  assert.equal(written(run([nulls], { status: 500, headers: {} })), nulls);
});

const seen = (status: number, body: string): unknown[] => {
  const [{ error, raw }] = run([body], { status, headers: {} }) as [Loose];
  return [error.status, error.code, error.message, raw === undefined];
};

test('statuses have their codes, and other shapes of errors are read', () => {
  assert.deepEqual(seen(404, '{"object":"error","message":"no such model","type":"NotFoundError","code":404}'), [
    404,
    'upstream_rejected',
    'no such model',
    true,
  ]);
  assert.deepEqual(seen(422, '{"detail":"bad field"}'), [422, 'upstream_rejected', 'bad field', true]);
  assert.deepEqual(seen(500, '{"error":"boom"}'), [500, 'upstream_error', 'boom', true]);
  assert.deepEqual(seen(529, '{"error":{"message":"busy"}}'), [529, 'upstream_overloaded', 'busy', false]);
  assert.deepEqual(seen(302, ''), [502, 'upstream_error', 'The model service answered with status 302.', true]);
  assert.deepEqual(seen(500, 'x'.repeat(100_000)).slice(0, 2), [500, 'upstream_error']);
  const key = seen(401, '{"error":{"message":"Incorrect API key provided: sk-secret"}}');
  assert.deepEqual([key[0], key[1], key[3]], [502, 'upstream_auth_failed', true]);
  assert.ok(!String(key[2]).includes('sk-'));
});

test('an error object in a 200 answer is an error', () => {
  const [event] = run(['{"error":{"message":"no","type":"rate_limit_error"}}']);
  assert.deepEqual([event.kind, event.error.code], ['error', 'upstream_rate_limited']);
  assert.equal(run([answer(undefined, { error: null })])[0].kind, 'answer');
});

const list = (one: unknown, two: unknown): string =>
  JSON.stringify({
    object: 'list',
    model: 'gpt-test',
    data: [
      { object: 'embedding', index: 0, embedding: one },
      { object: 'embedding', index: 1, embedding: two },
    ],
    usage: { prompt_tokens: 2, total_tokens: 2 },
  });

test('embeddings: base64 passes, floats to a base64 request are encoded (JSON-07)', () => {
  const asked = { body: EMBED, path: '/v1/embeddings' };
  const base64 = list('AACAPwAAAEA=', 'AAAAAAAAgL8=');
  assert.equal(written(run([base64], asked)), base64);
  assert.equal(written(run([list([1, 2], [0, -1])], asked)), base64);
  const floats = list([1, 2], [0, -1]);
  const plain = run([floats], { ...asked, body: { model: 'm', input: 'a' } });
  assert.equal(written(plain), floats);
  assert.deepEqual(plain[0].facts.usage, { prompt: 2, cached: 0, completion: 0, reasoning: 0, source: 'upstream' });
  assert.equal(run(['{"choices":[]}'], asked)[0].error.code, 'upstream_invalid_response');
});
