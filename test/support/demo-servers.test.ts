import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseDemoFault } from '../../scripts/demo/model-servers/demo-fault.ts';
import { type DemoOpenAiOptions, startDemoOpenAi } from '../../scripts/demo/model-servers/demo-openai-server.ts';
import type { DemoServer } from '../../scripts/demo/model-servers/demo-server.ts';
import { type DemoVllmOptions, startDemoVllm } from '../../scripts/demo/model-servers/demo-vllm-server.ts';
import { createVllmGenerate } from '../../src/dialects/vllm-generate/dialect.ts';
import { wholeBody } from '../../src/core/body-pieces.ts';
import { HeaderList } from '../../src/core/http.ts';
import { chatRequest, decodeContext, deployment } from '../golden/vllm-generate/request.ts';

/** JSON that the assertions look into. */
type Json = ReturnType<typeof JSON.parse>;

async function openAi(t: TestContext, options: DemoOpenAiOptions = {}): Promise<DemoServer> {
  const server = await startDemoOpenAi(options);
  t.after(() => server.close());
  return server;
}

async function vllm(t: TestContext, options: DemoVllmOptions = {}): Promise<DemoServer> {
  const server = await startDemoVllm(options);
  t.after(() => server.close());
  return server;
}

const post = (
  server: DemoServer,
  path: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<Response> => fetch(server.url + path, { method: 'POST', body: JSON.stringify(body), headers });
const chat = (server: DemoServer, body: object): Promise<Response> =>
  post(server, '/v1/chat/completions', {
    model: 'demo',
    messages: [{ role: 'user', content: 'one two three' }],
    ...body,
  });
const events = async (response: Response): Promise<Json[]> =>
  (await response.text())
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice(6)));

test('a chat: echoed, counted in words, bounded, stopped', async (t) => {
  const server = await openAi(t);
  const whole: Json = await (await chat(server, {})).json();
  assert.equal(whole.choices[0].message.content, 'You said: one two three');
  assert.deepEqual(whole.usage, { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 });
  const short: Json = await (await chat(server, { max_tokens: 3, n: 2 })).json();
  assert.deepEqual(
    short.choices.map((one: Json) => [one.message.content, one.finish_reason]),
    [
      ['You said: one', 'length'],
      ['You said: one', 'length'],
    ],
  );
  const stopped: Json = await (await chat(server, { stop: ['two'] })).json();
  assert.deepEqual([stopped.choices[0].finish_reason, stopped.usage.completion_tokens], ['stop', 3]);
  assert.deepEqual(server.stats(), {
    requests: 3,
    promptTokens: 9,
    completionTokens: 5 + 6 + 3,
    aborted: 0,
    failed: 0,
  });
  assert.deepEqual(await (await fetch(`${server.url}/demo/stats`)).json(), server.stats());
  assert.equal((await fetch(`${server.url}/health`)).status, 200);
  assert.equal(((await (await fetch(`${server.url}/v1/models`)).json()) as Json).data[0].id, 'demo');
});

test('a stream says the same, and usage only to those who ask', async (t) => {
  const server = await openAi(t);
  const plain = await events(await chat(server, { stream: true }));
  assert.equal(plain.map((one) => one.choices[0].delta.content ?? '').join(''), 'You said: one two three');
  assert.equal(plain.at(-1).choices[0].finish_reason, 'stop');
  assert.ok(plain.every((one) => one.usage === undefined));
  const asked = await events(
    await chat(server, { stream: true, stream_options: { include_usage: true }, max_tokens: 2 }),
  );
  assert.deepEqual([asked.at(-1).choices, asked.at(-1).usage.completion_tokens], [[], 2]);
  const text: Json = await (await post(server, '/v1/completions', { prompt: 'count to 4' })).json();
  assert.equal(text.choices[0].text, '1 2 3 4');
});

test('tools, JSON and embeddings', async (t) => {
  const server = await openAi(t);
  const parameters = { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } } };
  const tools = [{ type: 'function', function: { name: 'get_weather', parameters } }];
  const messages = [{ role: 'user', content: 'please get_weather' }];
  const called: Json = await (await chat(server, { messages, tools })).json();
  assert.equal(called.choices[0].finish_reason, 'tool_calls');
  const { function: tool } = called.choices[0].message.tool_calls[0];
  assert.deepEqual([tool.name, JSON.parse(tool.arguments)], ['get_weather', { city: 'please get_weather', days: 1 }]);
  const streamed = await events(await chat(server, { messages, tools, stream: true }));
  const pieces = streamed.map((one) => one.choices[0].delta.tool_calls?.[0].function.arguments ?? '');
  assert.deepEqual(JSON.parse(pieces.join('')), { city: 'please get_weather', days: 1 });
  const spoken: Json = await (await chat(server, { tools })).json();
  assert.equal(spoken.choices[0].finish_reason, 'stop');
  const format = { type: 'json_schema', json_schema: { name: 'x', schema: parameters } };
  const json: Json = await (await chat(server, { response_format: format })).json();
  assert.equal(JSON.parse(json.choices[0].message.content).days, 1);
  const body = { input: ['a b', 'c'], model: 'demo' };
  const vectors: Json = await (await post(server, '/v1/embeddings', body)).json();
  assert.deepEqual([vectors.data.length, vectors.data[0].embedding.length, vectors.usage.prompt_tokens], [2, 8, 3]);
  const packed: Json = await (await post(server, '/v1/embeddings', { ...body, encoding_format: 'base64' })).json();
  const floats = new Float32Array(new Uint8Array(Buffer.from(packed.data[1].embedding, 'base64')).buffer);
  assert.deepEqual([...floats], vectors.data[1].embedding);
});

test('faults by model name, by header, for all, and at run time', async (t) => {
  const server = await openAi(t);
  assert.equal((await chat(server, { model: 'fail-503' })).status, 503);
  const busy = await chat(server, { model: 'demo/fail-429' });
  assert.deepEqual([busy.status, busy.headers.get('retry-after')], [429, '1']);
  const page = await chat(server, { model: 'html-error' });
  assert.deepEqual([page.status, page.headers.get('content-type')], [502, 'text/html']);
  await assert.rejects(async () => (await chat(server, { model: 'garbage' })).json());
  await assert.rejects(chat(server, { model: 'reset' }));
  const failing = await events(await chat(server, { model: 'error-in-stream', stream: true }));
  assert.equal(failing.at(-1).error.type, 'server_error');
  for (const stream of [true, false]) {
    await assert.rejects(async () => (await chat(server, { model: 'cut-after-3', stream })).text());
  }
  assert.equal(server.stats().completionTokens, 3 + 3);
  const start = performance.now();
  await chat(server, { model: 'slow-first-token-120' });
  assert.ok(performance.now() - start >= 115);
  await assert.rejects(leave(server, 'hang'));
  assert.equal((await post(server, '/demo/fault', { fault: 'fail-500' })).status, 200);
  assert.equal((await chat(server, {})).status, 500);
  assert.equal((await post(server, '/demo/fault', { fault: 'nonsense' })).status, 400);
  server.setFault(null);
  assert.equal((await chat(server, {})).status, 200);
});

async function leave(server: DemoServer, model: string): Promise<void> {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'x' }] });
  await fetch(`${server.url}/v1/chat/completions`, { method: 'POST', body, signal: AbortSignal.timeout(60) });
}

test('a client that leaves is counted, and only the tokens that it got', async (t) => {
  const server = await openAi(t, { tokenDelayMs: 10 });
  const messages = [{ role: 'user', content: 'count to 1000' }];
  const signal = AbortSignal.timeout(150);
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'demo', messages, stream: true }),
    signal,
  });
  await assert.rejects(response.text());
  await sleep(50);
  const { aborted, completionTokens } = server.stats();
  assert.equal(aborted, 1);
  assert.ok(completionTokens > 1 && completionTokens < 40, String(completionTokens));
});

test('a key is asked for when one is set; bad requests are refused', async (t) => {
  const server = await openAi(t, { apiKey: 'k' });
  assert.equal((await chat(server, {})).status, 401);
  const body = { model: 'demo', messages: [] };
  assert.equal((await post(server, '/v1/chat/completions', body, { authorization: 'Bearer k' })).status, 400);
  assert.equal((await fetch(`${server.url}/nowhere`)).status, 404);
});

for (const separator of ['newline', 'nul'] as const) {
  test(`the /generate server and its dialect understand each other (${separator})`, async (t) => {
    const server = await vllm(t, { separator });
    const dialect = createVllmGenerate({ estimateTokens: (text) => text.split(' ').length });
    for (const chatTemplate of ['chatml', 'gemma', 'llama3', 'mistral', 'qwen']) {
      for (const stream of [true, false]) {
        const messages = [{ role: 'user', content: 'Grüße 😀 now' }];
        const request = chatRequest({ model: 'm', messages, stream, n: 2, max_tokens: 4 });
        const target = deployment({ chatTemplate });
        const { path, headers, body } = dialect.encode(request, target);
        const response = await fetch(server.url + path, {
          method: 'POST',
          headers: headers.map(([a, b]) => [a, b]),
          body: Uint8Array.from(wholeBody(body)),
        });
        const head = { status: response.status, headers: new HeaderList([...response.headers]) };
        const decoder = dialect.decoder(head, decodeContext(request, { deployment: target }));
        const bytes = Buffer.from(await response.arrayBuffer());
        const got = [...decoder.push(bytes), ...decoder.end()];
        const texts: string[] = ['', ''];
        const finish: unknown[] = [];
        for (const event of got) {
          if (!('data' in event)) continue;
          for (const choice of JSON.parse(event.data.toString()).choices) {
            texts[choice.index] += choice.delta?.content ?? choice.message?.content ?? '';
            if (choice.finish_reason !== null) finish.push(choice.finish_reason);
          }
        }
        assert.deepEqual(texts, ['You said: Grüße 😀', 'You said: Grüße 😀'], chatTemplate);
        assert.deepEqual(finish, ['length', 'length']);
      }
    }
    assert.equal(server.stats().completionTokens, 10 * 2 * 4);
  });
}

test('the /generate server fails on what vLLM would fail on', async (t) => {
  const server = await vllm(t, { maxTokensField: 'max_new_tokens' });
  const ask = (body: object): Promise<Response> => post(server, '/generate', { prompt: 'a b', ...body });
  assert.equal((await ask({ max_tokens: 3 })).status, 500);
  assert.equal((await ask({ user: 'x' })).status, 500);
  assert.deepEqual(await (await ask({ max_new_tokens: 3 })).json(), { text: ['a bYou said: a'] });
  assert.equal((await post(server, '/generate', { prompt: 'x' }, { 'x-demo-fault': 'fail-503' })).status, 503);
});

test('names that are no fault are none', () => {
  for (const name of ['demo', 'gpt-4', 'fail', 'fail-200', 'fail-999', 'failing-503', '']) {
    assert.equal(parseDemoFault(name), null, name);
  }
  assert.deepEqual(parseDemoFault('hang-after-7'), { kind: 'stall', after: 7 });
});
