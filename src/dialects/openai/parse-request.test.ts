import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { type ErrorCode, GatewayError } from '../../core/error.ts';
import { HeaderList } from '../../core/http.ts';
import { createOpenAiClient } from './dialect.ts';

const client = createOpenAiClient();
const LIMITS = { jsonDepth: 64, jsonKeys: 25_000 };
const CHAT = '/v1/chat/completions';

function parse(body: unknown, path = CHAT, type: string | null = 'application/json') {
  const raw = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const headers = new HeaderList(type === null ? [] : [['content-type', type]]);
  return client.parse({ method: 'POST', path, headers }, raw, LIMITS);
}

function refused(body: unknown, code: ErrorCode, param: string | null, path = CHAT): GatewayError {
  try {
    parse(body, path);
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error));
    assert.equal(error.code, code, JSON.stringify(body)?.slice(0, 200));
    assert.equal(error.param, param);
    assert.equal(error.status, 400);
    return error;
  }
  throw new Error(`taken: ${JSON.stringify(body)?.slice(0, 200)}`);
}

const chat = (extra: object = {}): object => ({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...extra });

test('a chat request is understood', () => {
  const request = parse(
    chat({ stream: true, stream_options: { include_usage: true }, n: 2, max_tokens: 7, seed: 1 }),
    `${CHAT}?x=1`,
  );
  assert.equal(request.endpoint, 'chat');
  assert.equal(request.model, 'm');
  assert.deepEqual([request.stream, request.includeUsage, request.n, request.maxOutputTokens], [true, true, 2, 7]);
  assert.deepEqual(request.texts, [{ param: 'messages[0].content', role: 'user', text: 'hi' }]);
  const span = request.spans.get('seed')!;
  assert.equal(request.raw.subarray(span.start, span.end).toString(), '1');
  assert.ok(request.promptTokens >= 5 && request.promptTokens <= 12);
});

test('the larger of two bounds on the output counts, and best_of answers are all paid for', () => {
  assert.equal(parse(chat({ max_tokens: 5, max_completion_tokens: 9 })).maxOutputTokens, 9);
  assert.equal(parse({ model: 'm', prompt: 'x', n: 1, best_of: 20 }, '/v1/completions').n, 20);
  assert.equal(parse(chat()).maxOutputTokens, null);
});

test('content types: JSON kinds and none; others are 415', () => {
  for (const type of [
    'application/json',
    'application/json; charset=utf-8',
    'application/vnd.x+json',
    'text/json',
    null,
    '',
  ]) {
    parse(chat(), CHAT, type);
  }
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=utf-16',
    'application/jsonx',
  ]) {
    assert.throws(() => parse(chat(), CHAT, type), {
      code: 'unsupported_media_type',
      status: 415,
      param: 'content-type',
      message: /header content-type must say so: application\/json/,
    });
  }
});

test('bodies that are no JSON object get 400 and no echo (ERR-07, P28)', () => {
  for (const body of ['', '{"model":', 'secret', '[]', '"secret"', 'null', '1', '{"secret":tru}', ' ']) {
    assert.ok(!refused(body, 'invalid_json', null).message.includes('secret'));
  }
  refused(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'invalid_encoding', null);
  refused('\uFEFF{}', 'invalid_encoding', null);
  refused(`{"model":"m","messages":${'['.repeat(100_000)}`, 'json_too_deep', null);
});

test('a key given twice names its path, however it is spelt (P27)', () => {
  refused('{"model":"m","mod\\u0065l":"x","messages":[]}', 'duplicate_key', 'model');
  refused(
    '{"model":"m","messages":[{"role":"user","content":"a","content":"b"}]}',
    'duplicate_key',
    'messages[0].content',
  );
  refused('{"model":"m","n":1,"messages":[{"role":"user","content":"a"}],"n":128}', 'duplicate_key', 'n');
});

test('`__proto__` is plain data', () => {
  const request = parse('{"model":"m","messages":[{"role":"user","content":"hi"}],"__proto__":{"stream":true,"n":9}}');
  assert.deepEqual([request.stream, request.n], [false, 1]);
  assert.equal(({} as Record<string, unknown>)['stream'], undefined);
  refused('{"__proto__":{"model":"m","messages":[{"role":"user","content":"x"}]}}', 'missing_parameter', 'model');
});

const one = (message: unknown): object => ({ model: 'm', messages: [{ role: 'user', content: 'a' }, message] });

test('required members and their types, with the path of the fault', () => {
  refused({ messages: [] }, 'missing_parameter', 'model');
  refused(chat({ model: '' }), 'invalid_value', 'model');
  refused(chat({ model: 'x'.repeat(257) }), 'invalid_value', 'model');
  refused(chat({ model: ['m'] }), 'invalid_value', 'model');
  refused({ model: 'm' }, 'missing_parameter', 'messages');
  for (const messages of [[], {}, 'hi', 5]) refused({ model: 'm', messages }, 'invalid_value', 'messages');
  refused(one('hi'), 'invalid_value', 'messages[1]');
  refused(one({ content: 'x' }), 'missing_parameter', 'messages[1].role');
  refused(one({ role: 1 }), 'invalid_value', 'messages[1].role');
  refused(one({ role: 'user', content: 5 }), 'invalid_value', 'messages[1].content');
  refused(one({ role: 'user', content: { a: 1 } }), 'invalid_value', 'messages[1].content');
  refused(one({ role: 'user', content: [5] }), 'invalid_value', 'messages[1].content[0]');
  refused(one({ role: 'user', content: [{ type: 'text' }] }), 'invalid_value', 'messages[1].content[0].text');
  refused(one({ role: 'user', content: 'x', name: 5 }), 'invalid_value', 'messages[1].name');
  refused(one({ role: 'assistant', tool_calls: {} }), 'invalid_value', 'messages[1].tool_calls');
  refused(
    one({ role: 'assistant', tool_calls: [{ function: { arguments: {} } }] }),
    'invalid_value',
    'messages[1].tool_calls[0].function.arguments',
  );
  refused(chat({ stream: 'true' }), 'invalid_value', 'stream');
  refused(chat({ stop: [1] }), 'invalid_value', 'stop');
  refused(chat({ tools: {} }), 'invalid_value', 'tools');
  refused(chat({ stream_options: {} }), 'invalid_value', 'stream_options');
  refused(chat({ stream: true, stream_options: 1 }), 'invalid_value', 'stream_options');
  refused(
    chat({ stream: true, stream_options: { include_usage: 'yes' } }),
    'invalid_value',
    'stream_options.include_usage',
  );
});

test('odd numbers are refused: no negative, no credit (T10)', () => {
  for (const value of [-1, 0, 1.5, 1e308, 2 ** 31, '5', true, [], {}]) {
    for (const key of ['max_tokens', 'max_completion_tokens', 'n', 'best_of'])
      refused(chat({ [key]: value }), 'invalid_value', key);
  }
  refused(chat({ n: 1000 }), 'invalid_value', 'n');
  for (const text of ['1E400', '-1E400', '"1"', 'true']) {
    refused(
      `{"model":"m","messages":[{"role":"user","content":"x"}],"temperature":${text}}`,
      'invalid_value',
      'temperature',
    );
    refused(
      `{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":${text}}`,
      'invalid_value',
      'max_tokens',
    );
  }
});

test('null counts as absent, and unknown members pass (JSON-04, JSON-05)', () => {
  parse(
    chat({
      stop: null,
      n: null,
      stream: null,
      tools: null,
      max_tokens: null,
      stream_options: null,
      anything: { a: [1] },
    }),
  );
  parse(
    chat({ messages: [{ role: 'x-new', content: null, x: 1 }, { role: 'assistant' }, { role: 'tool', content: [] }] }),
  );
});

test('every text that a model would read is collected with its place', () => {
  const { texts } = parse({
    model: 'm',
    messages: [
      { role: 'system', content: 'sys' },
      {
        role: 'user',
        name: 'ann',
        content: ['plain', { type: 'text', text: 'part' }, { type: 'new_kind', words: { deep: 'new' } }],
      },
      {
        role: 'user',
        content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } }],
      },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'https://x/y.png' } },
          { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        reasoning_content: 'thought',
        refusal: 'no',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"q":"arg"}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'result' },
    ],
    tools: [
      {
        type: 'function',
        function: {
          name: 'get',
          description: 'desc',
          parameters: { properties: { city: { description: 'inner', enum: ['Graz'] } } },
        },
      },
    ],
    user: 'not read',
    stop: ['not read'],
  });
  const found = new Map(texts.map(({ param, text }) => [param, text]));
  for (const [param, text] of [
    ['messages[0].content', 'sys'],
    ['messages[1].name', 'ann'],
    ['messages[1].content[0]', 'plain'],
    ['messages[1].content[1].text', 'part'],
    ['messages[1].content[2].words.deep', 'new'],
    ['messages[3].content[0].image_url.url', 'https://x/y.png'],
    ['messages[4].reasoning_content', 'thought'],
    ['messages[4].refusal', 'no'],
    ['messages[4].tool_calls[0].function.name', 'f'],
    ['messages[4].tool_calls[0].function.arguments', '{"q":"arg"}'],
    ['messages[5].content', 'result'],
    ['tools[0].function.description', 'desc'],
    ['tools[0].function.parameters.properties.city.enum[0]', 'Graz'],
  ] as const) {
    assert.equal(found.get(param), text, param);
  }
  assert.ok(texts.some((part) => part.text === 'city'));
  assert.ok(!texts.some(({ text }) => text.includes('AAAA') || text === 'not read' || text === 'c1'));
});

const prompt = (value: unknown) => parse({ model: 'm', prompt: value, suffix: 'end' }, '/v1/completions');

const input = (value: unknown) => parse({ model: 'm', input: value, stream: true }, '/v1/embeddings');

test('completions and embeddings: texts and token ids', () => {
  assert.deepEqual(
    prompt(['a', 'b']).texts.map(({ param }) => param),
    ['prompt[0]', 'prompt[1]', 'suffix'],
  );
  assert.equal(prompt([1, 2, 3]).promptTokens - prompt([1]).promptTokens, 2);
  assert.equal(input([[1, 2], [3]]).promptTokens, 3);
  assert.equal(input('hello').texts[0]?.text, 'hello');
  assert.equal(input('hello').stream, false);
  for (const value of [[], {}, 5, [1, 'a'], ['a', 1], [[]], [-1], [1.5], [['a']], [null]]) {
    const key = 'input';
    assert.throws(() => input(value), { code: 'invalid_value' }, `${key} ${JSON.stringify(value)}`);
  }
  refused({ model: 'm' }, 'missing_parameter', 'input', '/v1/embeddings');
  refused({ model: 'm' }, 'missing_parameter', 'prompt', '/v1/completions');
  assert.throws(() => parse(chat(), '/v1/audio'), { code: 'unknown_endpoint', status: 404 });
});

test('the error body is one OpenAI error object', () => {
  const body = client.error(new GatewayError('missing_parameter', '`model` is required.', { param: 'model' }));
  assert.deepEqual(JSON.parse(body.toString()), {
    error: {
      message: '`model` is required.',
      type: 'invalid_request_error',
      param: 'model',
      code: 'missing_parameter',
    },
  });
});

test('ten thousand bodies with odd values anywhere: a request or a 400, nothing else (P28)', () => {
  const odd = fc.oneof(
    fc.constantFrom<unknown>(
      null,
      true,
      -1,
      0,
      1e308,
      2 ** 53,
      '',
      'x',
      '5',
      [],
      [[]],
      {},
      { a: {} },
      [null],
      [1, 'a'],
    ),
    fc.jsonValue({ maxDepth: 2 }),
  );
  const message = fc.record(
    { role: fc.oneof(fc.constant('user'), odd), content: odd, name: odd, tool_calls: odd },
    { requiredKeys: [] },
  );
  const members = [
    'model',
    'messages',
    'prompt',
    'input',
    'tools',
    'stream',
    'stream_options',
    'n',
    'max_tokens',
    'stop',
  ];
  const key = fc.constantFrom(...members, 'temperature', 'response_format', '__proto__', 'unknown');
  const changes = fc.array(fc.tuple(key, odd), { maxLength: 2 });
  const body = fc
    .tuple(
      fc.array(fc.oneof({ weight: 3, arbitrary: fc.constant({ role: 'user', content: 'x' }) }, message, odd), {
        minLength: 1,
        maxLength: 3,
      }),
      changes,
    )
    .map(([messages, list]) =>
      // From entries, so that `__proto__` is a member like any other.
      Object.fromEntries([...Object.entries({ model: 'm', messages, prompt: 'x', input: 'x' }), ...list]),
    );
  const path = fc.constantFrom(CHAT, '/v1/completions', '/v1/embeddings');
  let taken = 0;
  fc.assert(
    fc.property(body, path, (json, where) => {
      try {
        const request = parse(json, where);
        taken += 1;
        assert.ok(Number.isSafeInteger(request.promptTokens) && request.promptTokens >= 0);
        assert.ok(request.n >= 1 && (request.maxOutputTokens ?? 1) >= 1);
      } catch (error) {
        assert.ok(error instanceof GatewayError && error.status === 400, String(error));
      }
    }),
    { numRuns: 10_000 },
  );
  assert.ok(taken > 50, `only ${taken} were taken`);
});

test('a body of nothing but keys is refused before it costs anybody time', () => {
  const keys = (count: number): string => Array.from({ length: count }, (_, at) => `"k${at}":0`).join(',');
  const body = (count: number): Buffer =>
    Buffer.from(`{"model":"m","messages":[{"role":"user","content":"x"}],"metadata":{${keys(count)}}}`);
  const headers = new HeaderList([]);
  const parsed = (count: number) =>
    client.parse({ method: 'POST', path: '/v1/chat/completions', headers }, body(count), {
      jsonDepth: 64,
      jsonKeys: 100,
    });
  // Five keys stand around them.
  assert.equal(parsed(95).model, 'm');
  assert.throws(() => parsed(96), { code: 'json_too_many_keys', status: 400 });
});
