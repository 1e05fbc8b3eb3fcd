import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChatEvent, ChunkFacts, EncodeContext } from '../../core/dialect.ts';
import { GatewayError } from '../../core/error.ts';
import { createOpenAiClient } from './dialect.ts';

const client = createOpenAiClient();
const DONE = 'data: [DONE]\n\n';
const FACTS: ChunkFacts = { content: true, outputChars: 1, finishReason: null, usage: null, usageOnly: false };
const USAGE = { prompt: 5, cached: 2, completion: 3, reasoning: 1, source: 'upstream' } as const;

// What comes is looked at by the members that the test expects.
// oxlint-disable-next-line typescript/no-explicit-any
type Loose = any;

const chunk = (data: unknown, facts: Partial<ChunkFacts> = {}): ChatEvent => ({
  kind: 'chunk',
  data: Buffer.from(typeof data === 'string' ? data : JSON.stringify(data)),
  facts: { ...FACTS, ...facts },
});
const piece = (index = 0, finish: string | null = null): ChatEvent =>
  chunk(
    {
      id: 'c1',
      object: 'chat.completion.chunk',
      created: 9,
      model: 'm',
      choices: [{ index, delta: { content: 'x' }, finish_reason: finish }],
    },
    { finishReason: finish },
  );

function stream(context: Partial<EncodeContext> = {}) {
  const encoder = client.encoder({ stream: true, includeUsage: false, ...context });
  const write = (...events: ChatEvent[]): string => Buffer.concat(encoder.write(events)).toString();
  const cut = (usage: typeof USAGE | null = null): Loose[] => {
    const raw = Buffer.concat(client.cutShort(encoder, usage)).toString();
    assert.ok(raw === '' || raw.endsWith(DONE));
    return raw
      .split('\n\n')
      .filter((line) => line !== '' && line !== 'data: [DONE]')
      .map((line) => JSON.parse(line.slice(6)));
  };
  return { encoder, write, cut };
}

test('a chunk is one line, also when its JSON had line ends', () => {
  assert.equal(stream().write(chunk('{"a":\r\n1,\n"b":2}')), 'data: {"a":  1, "b":2}\n\n');
});

test('after the end nothing more is written, and [DONE] comes once', () => {
  const { write, cut } = stream();
  assert.equal(write({ kind: 'end', clean: true }, { kind: 'end', clean: true }), DONE);
  assert.equal(write(piece(), { kind: 'end', clean: false }), '');
  assert.deepEqual(cut(), []);
});

test('after an error nothing more but [DONE]', () => {
  const { write } = stream();
  const error = new GatewayError('upstream_error', 'broken');
  const raw = write(piece(), { kind: 'error', error, usage: null }, piece(), { kind: 'end', clean: true });
  const [, last, done] = raw.split('\n\n');
  assert.deepEqual(JSON.parse(last!.slice(6)), {
    error: { message: 'broken', type: 'upstream_error', param: null, code: 'upstream_error' },
  });
  assert.equal(done, 'data: [DONE]');
  assert.equal(write(piece()), '');
});

test('comments are comments', () => {
  assert.equal(stream().write({ kind: 'comment', text: Buffer.from('ping') }), ': ping\n\n');
});

test('odd usage is hidden like any other', () => {
  const odd = { id: 'c', choices: [{ index: 0, delta: {} }], usage: { prompt_tokens: null } };
  const facts = { usageFlag: 'odd_prompt' };
  assert.equal(stream().write(chunk(odd, facts)), 'data: {"id":"c","choices":[{"index":0,"delta":{}}]}\n\n');
  assert.equal(stream({ includeUsage: true }).write(chunk(odd, facts)), `data: ${JSON.stringify(odd)}\n\n`);
});

test('a stream that is cut short ends every open choice under the id of before', () => {
  const { write, cut } = stream({ n: 3, includeUsage: true });
  write(piece(0), piece(1, 'stop'));
  assert.deepEqual(cut(USAGE), [
    {
      id: 'c1',
      object: 'chat.completion.chunk',
      created: 9,
      model: 'm',
      choices: [{ index: 0, delta: {}, finish_reason: 'length' }],
    },
    {
      id: 'c1',
      object: 'chat.completion.chunk',
      created: 9,
      model: 'm',
      choices: [{ index: 2, delta: {}, finish_reason: 'length' }],
    },
    {
      id: 'c1',
      object: 'chat.completion.chunk',
      created: 9,
      model: 'm',
      choices: [],
      usage: {
        prompt_tokens: 5,
        completion_tokens: 3,
        total_tokens: 8,
        prompt_tokens_details: { cached_tokens: 2 },
        completion_tokens_details: { reasoning_tokens: 1 },
      },
    },
  ]);
  assert.equal(write(piece()), '');
  assert.deepEqual(cut(), []);
});

test('usage is sent once, and to those alone who asked', () => {
  const asked = stream({ includeUsage: true });
  asked.write(piece(0, 'stop'), chunk({ choices: [], usage: {} }, { usage: USAGE, usageOnly: true }));
  assert.deepEqual(asked.cut(USAGE), []);
  const silent = stream();
  silent.write(piece());
  assert.equal(silent.cut(USAGE).length, 1);
});

test('a stream that is cut short before its first chunk begins and ends', () => {
  const answer = { endpoint: 'chat', id: 'chatcmpl-7', created: 3, model: 'shown' } as const;
  const frame = { id: 'chatcmpl-7', object: 'chat.completion.chunk', created: 3, model: 'shown' };
  assert.deepEqual(stream({ answer }).cut(), [
    { ...frame, choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] },
    { ...frame, choices: [{ index: 0, delta: {}, finish_reason: 'length' }] },
  ]);
  assert.deepEqual(stream({ answer: { ...answer, endpoint: 'completions' } }).cut(), [
    { ...frame, object: 'text_completion', choices: [{ index: 0, text: '', logprobs: null, finish_reason: 'length' }] },
  ]);
  const [first] = stream().cut();
  assert.match(first.id, /^chatcmpl-/);
  assert.deepEqual(client.cutShort(client.encoder({ stream: false, includeUsage: false })), []);
});
