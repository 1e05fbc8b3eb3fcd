import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { chatRequest, deployment } from '../../../test/golden/vllm-generate/request.ts';
import { GatewayError } from '../../core/error.ts';
import type { Json } from '../../core/json.ts';
import { createAnthropicBackend } from './dialect.ts';

const dialect = createAnthropicBackend();

type Fields = Parameters<typeof chatRequest>[0];
type Block = Readonly<Record<string, Json>>;

interface Body {
  readonly system?: readonly Block[];
  readonly messages: readonly { readonly role: string; readonly content: readonly Block[] }[];
  readonly [key: string]: unknown;
}

const HI: Json = [{ role: 'user', content: 'hi' }];
const TOOL: Json = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } };

function encode(fields: Fields, options: Record<string, string> = {}) {
  const request = chatRequest({ model: 'm', messages: HI, ...fields });
  return dialect.encode(request, deployment({ options }));
}

function body(fields: Fields): Body {
  return JSON.parse(encode(fields).body.toString()) as Body;
}

function refusal(fields: Fields): [string, string | null] {
  try {
    encode(fields);
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.status, 400);
    return [error.code, error.param];
  }
  return assert.fail(`taken: ${JSON.stringify(fields)}`);
}

test('path, version and no key of its own', () => {
  const { path, headers } = encode({ stream: true });
  assert.equal(path, '/v1/messages');
  assert.deepEqual(headers, [
    ['content-type', 'application/json'],
    ['accept', 'text/event-stream'],
    ['accept-encoding', 'identity'],
    ['anthropic-version', '2023-06-01'],
  ]);
  assert.ok(
    encode({}, { version: '2026-01-31' }).headers.some(
      ([name, value]) => `${name} ${value}` === 'anthropic-version 2026-01-31',
    ),
  );
  const target = deployment();
  const based = { ...target, backend: { ...target.backend, basePath: '/anthropic/v1' } };
  assert.equal(dialect.encode(chatRequest({ model: 'm', messages: HI }), based).path, '/messages');
});

test('the bound on output is the client’s, else the deployment’s', () => {
  assert.equal(body({})['max_tokens'], 256);
  assert.equal(body({ max_tokens: 5 })['max_tokens'], 5);
  assert.equal(body({ max_completion_tokens: 6 })['max_tokens'], 6);
  assert.equal(body({ max_completion_tokens: 6 })['max_completion_tokens'], undefined);
});

test('stop is a list without blank entries', () => {
  assert.deepEqual(body({ stop: 'END' })['stop_sequences'], ['END']);
  assert.deepEqual(body({ stop: ['\n', ' x '] })['stop_sequences'], [' x ']);
  for (const stop of ['\n', ['', ' '], [], null]) assert.equal('stop_sequences' in body({ stop }), false);
});

test('numbers keep their bytes', () => {
  const text = encode({ temperature: { raw: '0.70' }, top_p: { raw: '1e-1' }, top_k: { raw: '40' } }).body.toString();
  assert.match(text, /"temperature":0\.70,"top_p":1e-1,"top_k":40/);
});

test('tool_choice and parallel_tool_calls', () => {
  const choice = (fields: Fields): unknown => body({ tools: [TOOL], ...fields })['tool_choice'];
  assert.equal(choice({}), undefined);
  assert.equal(choice({ parallel_tool_calls: true }), undefined);
  assert.deepEqual(choice({ tool_choice: 'auto' }), { type: 'auto' });
  assert.deepEqual(choice({ tool_choice: 'none', parallel_tool_calls: false }), { type: 'none' });
  assert.deepEqual(choice({ tool_choice: 'required' }), { type: 'any' });
  assert.deepEqual(choice({ parallel_tool_calls: false }), { type: 'auto', disable_parallel_tool_use: true });
  assert.deepEqual(choice({ tool_choice: { type: 'function', function: { name: 'f' } } }), { type: 'tool', name: 'f' });
  assert.equal(body({ tools: [], tool_choice: 'none' })['tool_choice'], undefined);
});

test('response_format text and values that ask for nothing change nothing', () => {
  const plain = encode({}).body.toString();
  const nothing: Fields = {
    response_format: { type: 'text' },
    n: 1,
    logprobs: false,
    top_logprobs: 0,
    logit_bias: {},
    presence_penalty: 0,
    frequency_penalty: 0,
    functions: [],
    modalities: ['text'],
    store: false,
    service_tier: 'auto',
    verbosity: 'medium',
    seed: null,
    tools: [],
    user: '',
    prompt_cache_key: 'k',
    stream_options: { include_usage: true, include_obfuscation: false },
    made_up: null,
  };
  assert.equal(encode(nothing).body.toString(), plain);
});

test('what cannot be carried is refused by name', () => {
  const parameters: Fields[] = [
    { n: 2 },
    { logprobs: true },
    { top_logprobs: 2 },
    { logit_bias: { 1: 5 } },
    { presence_penalty: 0.1 },
    { frequency_penalty: -1 },
    { seed: 1 },
    { functions: [{ name: 'f' }] },
    { function_call: 'auto' },
    { modalities: ['text', 'audio'] },
    { audio: { voice: 'a' } },
    { prediction: {} },
    { web_search_options: {} },
    { verbosity: 'low' },
    { store: true },
    { service_tier: 'flex' },
    { stream_options: { continuous_usage_stats: true } },
    { temperature: 1.5 },
    { top_p: 2 },
    { reasoning_effort: 'minimal' },
    { made_up: 1 },
    { guided_json: {} },
  ];
  for (const fields of parameters) assert.deepEqual(refusal(fields), ['unsupported_parameter', Object.keys(fields)[0]]);
});

test('messages that cannot be carried are refused by place', () => {
  const user = (...content: Json[]): Fields => ({ messages: [{ role: 'user', content }] });
  const call = (fn: Json, more: object = {}): Fields => ({
    messages: [{ role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: fn, ...more }] }],
  });
  const cases: [Fields, string][] = [
    [{ messages: [{ role: 'function', name: 'f', content: 'x' }] }, 'messages[0].role'],
    [{ messages: [{ role: 'user', name: 'Ann', content: 'x' }] }, 'messages[0].name'],
    [{ messages: [{ role: 'user', content: 'x', weight: 1 }] }, 'messages[0].weight'],
    [{ messages: [{ role: 'system', content: 'x' }] }, 'messages'],
    [{ messages: [{ role: 'user', content: ' ' }] }, 'messages'],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].tool_call_id'],
    [user({ type: 'input_audio', input_audio: {} }), 'messages[0].content[0].type'],
    [user({ type: 'text', text: 'a', made_up: 1 }), 'messages[0].content[0].made_up'],
    [user({ type: 'refusal', refusal: 'a' }), 'messages[0].content[0].type'],
    [user({ type: 'image_url', image_url: { url: 'http://img.test/a.png' } }), 'messages[0].content[0].image_url.url'],
    [
      user({ type: 'image_url', image_url: { url: 'data:image/svg+xml;base64,eA==' } }),
      'messages[0].content[0].image_url.url',
    ],
    [user({ type: 'image_url', image_url: { url: 'data:image/png,abc' } }), 'messages[0].content[0].image_url.url'],
    [
      user({ type: 'image_url', image_url: { url: `data:image/png;${'x'.repeat(300)}` } }),
      'messages[0].content[0].image_url.url',
    ],
    [
      user({ type: 'image_url', image_url: { url: 'https://a.test/', detail: 'low' } }),
      'messages[0].content[0].image_url.detail',
    ],
    [user({ type: 'image_url', image_url: 'https://a.test/' }), 'messages[0].content[0].image_url'],
    [user({ type: 'file', file: { file_id: 'f' } }), 'messages[0].content[0].file.file_id'],
    [
      user({ type: 'file', file: { file_data: 'data:text/plain;base64,eA==' } }),
      'messages[0].content[0].file.file_data',
    ],
    [
      { messages: [{ role: 'system', content: [{ type: 'image_url', image_url: {} }] }] },
      'messages[0].content[0].type',
    ],
    [call({ name: 'f', arguments: '{"a":' }), 'messages[0].tool_calls[0].function.arguments'],
    [call({ name: 'f', arguments: '[1]' }), 'messages[0].tool_calls[0].function.arguments'],
    [call({ name: 'f', arguments: '"\\ud83d"' }), 'messages[0].tool_calls[0].function.arguments'],
    [call({ name: 'f', arguments: '{}' }, { type: 'custom' }), 'messages[0].tool_calls[0].type'],
    [call({ name: 'f', arguments: '{}' }, { made_up: 1 }), 'messages[0].tool_calls[0].made_up'],
    [
      { messages: [{ role: 'assistant', thinking_blocks: [{ type: 'text', text: 'x' }] }] },
      'messages[0].thinking_blocks[0].type',
    ],
    [{ tools: [{ type: 'custom', custom: {} }] }, 'tools[0].type'],
    [{ tools: [TOOL, { type: 'function', function: { name: 'g', made_up: 1 } }] }, 'tools[1].function.made_up'],
    [{ tools: [{ type: 'function', function: { name: 'g', parameters: 'x' } }] }, 'tools[0].function.parameters'],
    [{ tools: [TOOL], tool_choice: { type: 'allowed_tools' } }, 'tool_choice'],
    [{ tool_choice: 'required' }, 'tool_choice'],
    [{ response_format: { type: 'grammar' } }, 'response_format.type'],
    [{ response_format: { type: 'json_schema', json_schema: { name: 'x' } } }, 'response_format.json_schema.schema'],
    [{ output_config: { effort: 'low' }, reasoning_effort: 'high' }, 'reasoning_effort'],
    [{ thinking: { type: 'adaptive' }, reasoning_effort: 'none' }, 'reasoning_effort'],
  ];
  for (const [fields, param] of cases) assert.equal(refusal(fields)[1], param, JSON.stringify(fields));
});

test('completions and embeddings are refused', () => {
  for (const endpoint of ['completions', 'embeddings'] as const) {
    assert.throws(() => dialect.encode(chatRequest({ model: 'm', prompt: 'x' }, endpoint), deployment()), {
      code: 'unsupported_parameter',
      param: 'model',
    });
  }
});

test('thinking with a budget needs the blocks of the tool round that is going on', () => {
  const round = (more: Record<string, Json>): Json[] => [
    { role: 'user', content: 'q' },
    {
      role: 'assistant',
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
      ...more,
    },
    { role: 'tool', tool_call_id: 'c', content: 'r' },
  ];
  const thinking = { type: 'enabled', budget_tokens: 1024 };
  assert.deepEqual(refusal({ thinking, messages: round({}) }), ['unsupported_parameter', 'thinking']);
  const blocks = [{ type: 'thinking', thinking: 'x', signature: 'y' }];
  assert.deepEqual(body({ thinking, messages: round({ thinking_blocks: blocks }) })['thinking'], thinking);
  assert.deepEqual(
    body({ thinking, messages: [...round({}), { role: 'user', content: 'next' }] })['thinking'],
    thinking,
  );
  assert.deepEqual(body({ thinking: { type: 'adaptive' }, messages: round({}) })['thinking'], { type: 'adaptive' });
  assert.equal(body({ reasoning_effort: 'high', messages: round({}) })['thinking'], undefined);
});

test('who the end user is', () => {
  assert.deepEqual(body({ user: 'u' })['metadata'], { user_id: 'u' });
  assert.deepEqual(body({ user: 'u', safety_identifier: 's' })['metadata'], { user_id: 's' });
});

test('ids of other servers become ids that are allowed, the same for a call and its result', () => {
  const { messages } = body({
    messages: [
      { role: 'assistant', tool_calls: [{ id: 'a.b:ü', type: 'function', function: { name: 'f', arguments: ' ' } }] },
      { role: 'tool', tool_call_id: 'a.b:ü', content: 'r' },
    ],
  });
  assert.deepEqual(messages[0]?.content, [{ type: 'tool_use', id: 'a_2eb_3a_fc', name: 'f', input: {} }]);
  assert.equal(messages[1]?.content[0]?.['tool_use_id'], 'a_2eb_3a_fc');
});

const anyText = fc.oneof(fc.constantFrom('', ' ', '\n', '"', '\\'), fc.string({ unit: 'grapheme', maxLength: 8 }));
const anyContent = fc.oneof(
  anyText,
  fc.constant(null),
  fc.array(
    anyText.map((text) => ({ type: 'text', text })),
    { maxLength: 3 },
  ),
);
const anyMessage = fc.record({
  role: fc.constantFrom('system', 'developer', 'user', 'assistant'),
  content: anyContent,
});

function said(content: Json): string[] {
  if (typeof content === 'string') return [content];
  return Array.isArray(content) ? content.map((part) => (part as { text: string }).text) : [];
}

test('any chat: turns alternate, no block is blank, no text is lost', () => {
  fc.assert(
    fc.property(fc.array(anyMessage, { maxLength: 8 }), (messages) => {
      const all = [...messages, { role: 'user', content: 'end' }];
      const { system = [], messages: turns } = body({ messages: all });
      const isTop = (role: string): boolean => role === 'system' || role === 'developer';
      const texts = (top: boolean): string[] =>
        all
          .filter(({ role }) => isTop(role) === top)
          .flatMap(({ content }) => said(content))
          .filter((text) => text.trim() !== '');
      assert.deepEqual(
        system.map((block) => block['text']),
        texts(true),
      );
      assert.deepEqual(
        turns.flatMap(({ content }) => content.map((block) => block['text'])),
        texts(false),
      );
      for (const [at, turn] of turns.entries()) {
        assert.ok(turn.content.length > 0);
        assert.notEqual(turn.role, turns[at - 1]?.role);
      }
    }),
    { numRuns: 300 },
  );
});

test('any arguments and any schema go through with their bytes', () => {
  const anyObject = fc
    .tuple(fc.dictionary(fc.string(), fc.jsonValue()), fc.bigInt({ min: 10n ** 18n, max: 10n ** 30n }), fc.boolean())
    .map(([value, number, spaced]) => {
      const text = JSON.stringify(value, null, spaced ? 1 : 0);
      return `${text.slice(0, -1)}${Object.keys(value).length > 0 ? ',' : ''}"type":[${number}, 1.0, 1E+2]}`;
    });
  fc.assert(
    fc.property(anyObject, anyObject, (input, schema) => {
      const messages = JSON.stringify([
        { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: input } }] },
      ]);
      const tools = `[{"type":"function", "function":{"parameters": ${schema} ,"name":"f"}}]`;
      const format = `{"type":"json_schema","json_schema":{"schema":${schema}}}`;
      const text = encode({
        messages: { raw: messages },
        tools: { raw: tools },
        response_format: { raw: format },
      }).body.toString();
      JSON.parse(text);
      assert.ok(text.includes(`"input":${input}`));
      assert.ok(text.includes(`"input_schema":${schema}`));
      assert.ok(text.includes(`"output_config":{"format":{"type":"json_schema","schema":${schema}}}`));
    }),
    { numRuns: 200 },
  );
});
