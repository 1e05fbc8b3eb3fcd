import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import {
  APIConnectionTimeoutError,
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  OpenAI,
} from 'openai';
import { startDemoOpenAi } from '../../scripts/demo/model-servers/demo-openai-server.ts';
import { startDemoVllm } from '../../scripts/demo/model-servers/demo-vllm-server.ts';
import { waitUntil } from '../../src/app/wait-until.ts';
import { expiredToken } from './expired-token.ts';
import { errorAnswer, streamAnswer, wholeAnswer } from './openai-answers.ts';
import { useGateway } from '../support/use-gateway.ts';

/** A model behind each dialect of a backend. */
const DIALECTS = [
  ['openai', 'chat'],
  ['vllm-generate', 'llama'],
] as const;
const ASK = [{ role: 'user', content: 'count to 12' }] as const;
const COUNTED = '1 2 3 4 5 6 7 8 9 10 11 12';
const TOOL = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', enum: ['Paris'] }, days: { type: 'integer' } },
      required: ['city'],
    },
  },
} as const;

const [demoOpenAi, demoVllm] = await Promise.all([startDemoOpenAi(), startDemoVllm()]);
const profile = { default_max_tokens: 200, context: 8192 };
const {
  gateway,
  upstreams: [mock],
} = await useGateway({
  config: ([mock]) => ({
    backends: [
      { name: 'openai', endpoints: [{ url: `${demoOpenAi.url}/v1` }] },
      { name: 'vllm', dialect: 'vllm-generate', endpoints: [{ url: demoVllm.url }] },
      { name: 'mock', endpoints: [{ url: `${mock.url}/v1` }] },
    ],
    models: [
      { name: 'chat', deployments: [{ backend: 'openai', profile }] },
      { name: 'llama', deployments: [{ backend: 'vllm', chat_template: 'llama3', profile }] },
      { name: 'mock', deployments: [{ backend: 'mock', profile }] },
    ],
    tenants: [{ name: 'once', limits: { requests_per_minute: 1 } }],
    retry: { retries: 0 },
  }),
  servers: [demoOpenAi, demoVllm],
});
const client = await clientOf();
beforeEach(() => mock.clear());

for (const [dialect, model] of DIALECTS) {
  describe(`chat over ${dialect}`, () => {
    test('plain', async () => {
      const answer = await client.chat.completions.create({ model, messages: [...ASK] });
      assert.equal(answer.object, 'chat.completion');
      assert.match(answer.id, /^chatcmpl-/);
      assert.equal(answer.model, model);
      assert.equal(answer.choices.length, 1);
      assert.equal(answer.choices[0]?.message.role, 'assistant');
      assert.equal(answer.choices[0]?.message.content?.trim(), COUNTED);
      assert.equal(answer.choices[0]?.finish_reason, 'stop');
      assert.equal(
        answer.usage?.total_tokens,
        Number(answer.usage?.prompt_tokens) + Number(answer.usage?.completion_tokens),
      );
      if (dialect === 'openai') assert.equal(answer.usage?.completion_tokens, 12);
      assert.ok((answer.usage?.completion_tokens ?? 0) > 0);
    });

    test('max_tokens and stop', async () => {
      const answer = await client.chat.completions.create({ model, messages: [...ASK], max_tokens: 4 });
      assert.equal(answer.choices[0]?.message.content?.trim(), '1 2 3 4');
      if (dialect === 'openai') assert.equal(answer.choices[0]?.finish_reason, 'length');
      const stopped = await client.chat.completions.create({ model, messages: [...ASK], stop: ['5'] });
      assert.equal(stopped.choices[0]?.message.content?.trim(), '1 2 3 4');
    });

    test('stream', async () => {
      const stream = await client.chat.completions.create({ model, messages: [...ASK], stream: true });
      let text = '';
      const ids = new Set<string>();
      const finishes: string[] = [];
      let chunks = 0;
      for await (const chunk of stream) {
        chunks += 1;
        ids.add(chunk.id);
        assert.equal(chunk.object, 'chat.completion.chunk');
        assert.equal(chunk.model, model);
        assert.equal(chunk.usage ?? null, null, 'usage that nobody asked for');
        const [choice] = chunk.choices;
        assert.ok(choice !== undefined, 'a chunk without a choice that nobody asked for');
        if (chunks === 1) assert.equal(choice.delta.role, 'assistant');
        text += choice.delta.content ?? '';
        if (choice.finish_reason !== null) finishes.push(choice.finish_reason);
      }
      assert.equal(text.trim(), COUNTED);
      assert.deepEqual(finishes, ['stop']);
      assert.equal(ids.size, 1);
      assert.ok(chunks > 5, 'it streams');
    });

    test('stream with usage', async () => {
      const stream = await client.chat.completions.create({
        model,
        messages: [...ASK],
        stream: true,
        stream_options: { include_usage: true },
      });
      const chunks = await collect(stream);
      const last = chunks.at(-1);
      assert.deepEqual(last?.choices, []);
      assert.ok(Number(last?.usage?.completion_tokens) > 0 && Number(last?.usage?.prompt_tokens) > 0);
      assert.equal(chunks.filter((chunk) => (chunk.usage ?? null) !== null).length, 1);
    });

    test("the SDK's own stream reader", async () => {
      const runner = client.chat.completions.stream({ model, messages: [...ASK] });
      assert.equal((await runner.finalContent())?.trim(), COUNTED);
      assert.equal((await runner.finalChatCompletion()).choices[0]?.finish_reason, 'stop');
    });

    test('n = 2', async () => {
      const answer = await client.chat.completions.create({ model, messages: [...ASK], n: 2 });
      assert.deepEqual(
        answer.choices.map((choice) => choice.index),
        [0, 1],
      );
      assert.match(answer.choices[1]?.message.content ?? '', /choice 2/);
    });

    test('n = 2 as a stream', async () => {
      const runner = client.chat.completions.stream({ model, messages: [...ASK], n: 2 });
      const { choices } = await runner.finalChatCompletion();
      assert.equal(choices[0]?.message.content?.trim(), COUNTED);
      assert.match(choices[1]?.message.content ?? '', /12 \(choice 2\)$/);
      assert.ok(choices.every((choice) => choice.finish_reason === 'stop'));
    });

    test('JSON mode and a JSON schema', async () => {
      const any = await client.chat.completions.create({
        model,
        messages: [...ASK],
        response_format: { type: 'json_object' },
      });
      assert.equal(typeof JSON.parse(any.choices[0]?.message.content ?? ''), 'object');
      const schema = { type: 'object', properties: { colour: { enum: ['red'] }, size: { type: 'integer' } } };
      const bound = await client.chat.completions.create({
        model,
        messages: [...ASK],
        response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
      });
      assert.deepEqual(JSON.parse(bound.choices[0]?.message.content ?? ''), { colour: 'red', size: 1 });
    });

    test('text of other scripts comes back as it went', async () => {
      const content = '语言模型 😀 👩‍👩‍👧 Zażółć مرحبا हिन्दी';
      const answer = await client.chat.completions.create({ model, messages: [{ role: 'user', content }] });
      assert.match(answer.choices[0]?.message.content ?? '', new RegExp(content));
      const runner = client.chat.completions.stream({ model, messages: [{ role: 'user', content }] });
      assert.match((await runner.finalContent()) ?? '', new RegExp(content));
    });

    test('completions', async () => {
      const answer = await client.completions.create({ model, prompt: 'count to 3' });
      assert.equal(answer.object, 'text_completion');
      assert.equal(answer.choices[0]?.text.trim(), '1 2 3');
      let text = '';
      for await (const chunk of await client.completions.create({ model, prompt: 'count to 3', stream: true })) {
        assert.equal(chunk.object, 'text_completion');
        text += chunk.choices[0]?.text ?? '';
      }
      assert.equal(text.trim(), '1 2 3');
    });

    test('leaving a stream stops the model', async () => {
      const server = dialect === 'openai' ? demoOpenAi : demoVllm;
      server.setFault('hang-after-3');
      try {
        const stream = await client.chat.completions.create({ model, messages: [...ASK], stream: true });
        let words = 0;
        for await (const chunk of stream) {
          if ((chunk.choices[0]?.delta.content ?? '') !== '') words += 1;
          if (words === 3) break;
        }
        assert.ok(await waitUntil(() => server.stats().aborted > 0, { timeoutMs: 15_000 }), 'the model goes on');
      } finally {
        server.setFault(null);
      }
    });
  });
}

describe('tools', () => {
  const messages = [{ role: 'user', content: 'Please call get_weather for me.' }] as const;

  test('a call', async () => {
    const answer = await client.chat.completions.create({ model: 'chat', messages: [...messages], tools: [TOOL] });
    assert.equal(answer.choices[0]?.finish_reason, 'tool_calls');
    const call = answer.choices[0]?.message.tool_calls?.[0];
    assert.ok(call?.type === 'function');
    assert.equal(call.function.name, 'get_weather');
    assert.deepEqual(JSON.parse(call.function.arguments), { city: 'Paris', days: 1 });
  });

  test('a call as a stream', async () => {
    const runner = client.chat.completions.stream({ model: 'chat', messages: [...messages], tools: [TOOL] });
    const { choices } = await runner.finalChatCompletion();
    const call = choices[0]?.message.tool_calls?.[0];
    assert.ok(call?.type === 'function');
    assert.equal(choices[0]?.finish_reason, 'tool_calls');
    assert.deepEqual(JSON.parse(call.function.arguments), { city: 'Paris', days: 1 });
  });

  test('the result goes back', async () => {
    const answer = await client.chat.completions.create({
      model: 'chat',
      messages: [
        ...messages,
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call_0', type: 'function', function: { name: 'get_weather', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'call_0', content: 'rain' },
      ],
      tools: [TOOL],
    });
    assert.match(answer.choices[0]?.message.content ?? '', /rain/);
  });

  test('where the backend has no place for them: a BadRequestError that names the field', async () => {
    const error = await failure(
      client.chat.completions.create({ model: 'llama', messages: [...messages], tools: [TOOL] }),
    );
    assert.ok(error instanceof BadRequestError);
    assert.equal(error.code, 'unsupported_parameter');
    assert.equal(error.param, 'tools');
  });
});

describe('embeddings', () => {
  test('as numbers, and as base64 that the SDK reads by itself', async () => {
    const floats = await client.embeddings.create({ model: 'chat', input: 'hello world', encoding_format: 'float' });
    const decoded = await client.embeddings.create({ model: 'chat', input: 'hello world' });
    const coded = await client.embeddings.create({ model: 'chat', input: 'hello world', encoding_format: 'base64' });
    const vector = floats.data[0]?.embedding ?? [];
    assert.equal(vector.length, 8);
    assert.deepEqual(Array.from(decoded.data[0]?.embedding ?? [], Math.fround), vector.map(Math.fround));
    const bytes = Buffer.from(coded.data[0]?.embedding as unknown as string, 'base64');
    assert.equal(bytes.readFloatLE(0), Math.fround(vector[0] ?? 0));
    assert.equal(floats.model, 'chat');
    assert.ok(floats.usage.prompt_tokens > 0);
  });

  test('several at once, and of another size', async () => {
    const { data } = await client.embeddings.create({
      model: 'chat',
      input: ['a', 'b', 'c'],
      dimensions: 4,
      encoding_format: 'float',
    });
    assert.deepEqual(
      data.map((one) => [one.index, one.embedding.length]),
      [
        [0, 4],
        [1, 4],
        [2, 4],
      ],
    );
  });

  test('of a model that has none', async () => {
    const error = await failure(client.embeddings.create({ model: 'llama', input: 'x' }));
    assert.ok(error instanceof APIError);
    assert.ok([400, 404].includes(Number(error.status)), String(error));
  });
});

describe('models', () => {
  test('list and retrieve', async () => {
    const models = await collect(client.models.list());
    assert.deepEqual(
      models.map(({ id }) => id),
      ['chat', 'llama', 'mock'],
    );
    assert.equal((await client.models.retrieve('llama')).id, 'llama');
    assert.ok((await failure(client.models.retrieve('nobody'))) instanceof NotFoundError);
  });
});

describe('errors', () => {
  test('AuthenticationError', async () => {
    const error = await failure(ask(client.withOptions({ apiKey: 'sk-nonsense' })));
    assert.ok(error instanceof AuthenticationError);
    assert.equal(error.status, 401);
    assert.equal(error.code, 'invalid_credentials');
    assert.equal(error.type, 'authentication_error');
    const expired = await failure(ask(client.withOptions({ apiKey: await expiredToken() })));
    assert.ok(expired instanceof AuthenticationError);
    assert.equal(expired.code, 'expired_credentials');
  });

  test('PermissionDeniedError', async () => {
    const error = await failure(ask(await clientOf({ models: ['chat'] })));
    assert.ok(error instanceof PermissionDeniedError);
    assert.equal(error.code, 'model_not_allowed');
    assert.equal(error.param, 'model');
  });

  test('NotFoundError', async () => {
    const error = await failure(ask(client, 'nobody'));
    assert.ok(error instanceof NotFoundError);
    assert.equal(error.code, 'model_not_found');
    const path = await failure(client.get('/nothing/here'));
    assert.ok(path instanceof NotFoundError);
  });

  test('RateLimitError, with the headers that say when', async () => {
    mock.respondWith(wholeAnswer());
    const once = await clientOf({ tenant: 'once' });
    await ask(once);
    const error = await failure(ask(once));
    assert.ok(error instanceof RateLimitError);
    assert.equal(error.code, 'rate_limit_exceeded');
    assert.equal(error.headers.get('x-ratelimit-limit-requests'), '1');
    assert.equal(error.headers.get('x-ratelimit-remaining-requests'), '0');
    assert.ok(Number(error.headers.get('retry-after')) >= 1);
  });

  test('BadRequestError with param and code', async () => {
    for (const [body, param] of [
      [{ messages: [] }, 'messages'],
      [{ temperature: 'hot' }, 'temperature'],
      [{ n: 0 }, 'n'],
      [{ messages: [{ role: 'user', content: 5 }] }, 'messages[0].content'],
      [{ max_tokens: -1 }, 'max_tokens'],
    ] as const) {
      const request = {
        model: 'chat',
        messages: [...ASK],
        ...body,
      } as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming;
      const error = await failure(client.chat.completions.create(request));
      assert.ok(error instanceof BadRequestError, `${param}: ${String(error)}`);
      assert.equal(error.param, param);
      assert.ok(['invalid_value', 'missing_parameter'].includes(String(error.code)), String(error.code));
      assert.equal(error.type, 'invalid_request_error');
    }
  });

  test('InternalServerError', async () => {
    for (const status of [500, 502, 503, 504, 529]) {
      mock.respondWith(errorAnswer(status));
      const error = await failure(ask(client));
      assert.ok(error instanceof InternalServerError, String(error));
      assert.equal(error.status, status);
      assert.equal(error.headers.get('x-error-source'), 'model_service');
    }
    await mock.refuse();
    try {
      const error = await failure(ask(client));
      assert.ok(error instanceof InternalServerError);
      assert.equal(error.code, 'upstream_unreachable');
    } finally {
      await mock.listen();
    }
  });

  test('an error within a stream is thrown, after what was said', async () => {
    mock.respondWith(
      streamAnswer({
        words: 3,
        thenInstead: ['data: {"error":{"message":"no more","type":"server_error","param":null,"code":null}}\n\n'],
      }),
    );
    const stream = await client.chat.completions.create({ model: 'mock', messages: [...ASK], stream: true });
    let text = '';
    const error = await failure(
      (async () => {
        for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
      })(),
    );
    assert.equal(text, 'w1 w2 w3');
    assert.ok(error instanceof APIError);
    assert.match(error.message, /no more/);
  });

  test('the SDK tries a 503 again by itself', async () => {
    mock.queue(errorAnswer(503, { 'retry-after': '0' }), errorAnswer(503));
    mock.respondWith(wholeAnswer());
    const patient = client.withOptions({ maxRetries: 3 });
    assert.equal((await ask(patient)).choices[0]?.message.content, 'w1 w2 w3 w4 w5');
    assert.equal(mock.requests.length, 3);
  });

  test('APIUserAbortError and APIConnectionTimeoutError', async () => {
    mock.respondWith({ hang: true });
    const leave = new AbortController();
    const asked = client.chat.completions.create({ model: 'mock', messages: [...ASK] }, { signal: leave.signal });
    await mock.waitForRequests(1);
    leave.abort();
    assert.ok((await failure(asked)) instanceof APIUserAbortError);
    assert.ok(
      (await failure(
        client.chat.completions.create({ model: 'mock', messages: [...ASK] }, { timeout: 200 }),
      )) instanceof APIConnectionTimeoutError,
    );
    assert.ok(
      await waitUntil(() => mock.requests.every((request) => request.abortedAt !== null), { timeoutMs: 15_000 }),
      'the backend goes on',
    );
  });

  test('a deadline of the client is a 504 from us', async () => {
    mock.respondWith({ hang: true });
    const error = await failure(
      client.chat.completions.create(
        { model: 'mock', messages: [...ASK] },
        { headers: { 'x-request-timeout-ms': '200' } },
      ),
    );
    assert.ok(error instanceof InternalServerError);
    assert.equal(error.status, 504);
    assert.equal(error.code, 'upstream_timeout');
  });
});

test('withResponse shows the headers', async () => {
  const {
    data,
    response,
    request_id: requestId,
  } = await client.chat.completions.create({ model: 'chat', messages: [...ASK] }).withResponse();
  assert.equal((data as { _request_id?: string })._request_id, requestId);
  assert.equal(response.headers.get('x-request-id'), requestId);
  assert.equal(response.headers.get('x-tokenlat-model'), 'chat');
  assert.equal(response.headers.get('x-tokenlat-backend'), 'openai');
  assert.equal(response.headers.get('x-tokenlat-attempts'), '1');
  assert.equal(response.headers.get('x-total-tokens'), String(data.usage?.total_tokens));
  const streamed = await client.chat.completions
    .create({ model: 'chat', messages: [...ASK], stream: true })
    .withResponse();
  assert.equal(streamed.response.headers.get('content-type'), 'text/event-stream');
  assert.equal(streamed.response.headers.get('cache-control'), 'no-cache');
  await collect(streamed.data);
  const trace = await gateway.trace(String(requestId));
  assert.equal(trace['outcome'], 'complete');
});

async function clientOf(claims: Record<string, unknown> = {}): Promise<OpenAI> {
  return new OpenAI({ baseURL: gateway.url, apiKey: await gateway.token(claims), maxRetries: 0, timeout: 10_000 });
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const ask = (by: OpenAI, model = 'mock') => by.chat.completions.create({ model, messages: [...ASK] });

/** What a promise is rejected with. */
async function failure(promise: Promise<unknown>): Promise<unknown> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error !== undefined, 'it did not fail');
  return error;
}
