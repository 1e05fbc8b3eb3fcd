import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { chatRequest, decodeContext } from '../../../test/golden/vllm-generate/request.ts';
import type { ChatEvent, ChunkFacts } from '../../core/dialect.ts';
import { HeaderList } from '../../core/http.ts';
import type { Usage } from '../../core/usage.ts';
import { createAnthropicBackend } from './dialect.ts';

const dialect = createAnthropicBackend();
const golden = new URL('../../../test/golden/anthropic/', import.meta.url);

interface Setup {
  readonly stream?: boolean;
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly maxEventBytes?: number;
  readonly maxAnswerBytes?: number;
}

function run(chunks: readonly (string | Buffer)[], setup: Setup = {}): ChatEvent[] {
  const { stream = true, status = 200, headers = {}, ...limits } = setup;
  const type = stream ? 'text/event-stream' : 'application/json';
  const request = chatRequest({ model: 'm', stream, messages: [{ role: 'user', content: 'hi' }] });
  const head = { status, headers: new HeaderList(Object.entries({ 'content-type': type, ...headers })) };
  const decoder = dialect.decoder(head, decodeContext(request, limits));
  const events = chunks.flatMap((chunk) => decoder.push(Buffer.from(chunk)));
  return [...events, ...decoder.end(), ...decoder.push(Buffer.from('late')), ...decoder.end()];
}

const whole = (json: object | string, setup: Setup = {}): ChatEvent[] =>
  run([typeof json === 'string' ? json : JSON.stringify(json)], { stream: false, ...setup });
const event = (json: { type: string; [key: string]: unknown }): string =>
  `event: ${json.type}\ndata: ${JSON.stringify(json)}\n\n`;
const start = (usage: object = { input_tokens: 20, output_tokens: 1 }): string =>
  event({ type: 'message_start', message: { content: [], usage } });
const block = (index: number, content: object): string =>
  event({ type: 'content_block_start', index, content_block: content });
const delta = (index: number, json: object): string => event({ type: 'content_block_delta', index, delta: json });
const stop = (index: number): string => event({ type: 'content_block_stop', index });
const text = (...pieces: string[]): string =>
  block(0, { type: 'text', text: '' }) +
  pieces.map((piece) => delta(0, { type: 'text_delta', text: piece })).join('') +
  stop(0);
const finish = (reason: string | null, usage?: object): string =>
  event({ type: 'message_delta', delta: { stop_reason: reason }, ...(usage === undefined ? {} : { usage }) });
const END = event({ type: 'message_stop' });

const kinds = (events: readonly ChatEvent[]): string[] => events.map(({ kind }) => kind);
const errorOf = (events: readonly ChatEvent[]) => events.find((one) => one.kind === 'error')?.error;
const isClean = (events: readonly ChatEvent[]): boolean => events.some((one) => one.kind === 'end' && one.clean);
const factsOf = (events: readonly ChatEvent[]): ChunkFacts[] =>
  events.flatMap((one) => (one.kind === 'chunk' || one.kind === 'answer' ? [one.facts] : []));
const usageOf = (events: readonly ChatEvent[]): Usage | null =>
  factsOf(events).reduce<Usage | null>((last, { usage }) => usage ?? last, null);
const finishOf = (events: readonly ChatEvent[]): string | null =>
  factsOf(events).find(({ finishReason }) => finishReason !== null)?.finishReason ?? null;
const told = (prompt: number, cached: number, completion: number): Usage => ({
  prompt,
  cached,
  completion,
  reasoning: 0,
  source: 'upstream',
});

interface Assembled {
  content: string;
  reasoning: string;
  calls: { id?: string; name?: string; arguments: string }[];
}

interface Delta {
  readonly content?: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly { index: number; id?: string; function: { name?: string; arguments: string } }[];
}

/** What a client puts together. */
function assembled(events: readonly ChatEvent[]): Assembled {
  const out: Assembled = { content: '', reasoning: '', calls: [] };
  for (const one of events) {
    if (one.kind !== 'chunk') continue;
    const { choices } = JSON.parse(one.data.toString()) as { choices: readonly { delta: Delta }[] };
    for (const { delta: said } of choices) {
      out.content += said.content ?? '';
      out.reasoning += said.reasoning_content ?? '';
      for (const { index, id, function: fn } of said.tool_calls ?? []) {
        const call = (out.calls[index] ??= { arguments: '' });
        if (id !== undefined) call.id = id;
        if (fn.name !== undefined) call.name = fn.name;
        call.arguments += fn.arguments;
      }
    }
  }
  return out;
}

const same = (events: readonly ChatEvent[]): string =>
  JSON.stringify(events.map((one) => ('data' in one ? { ...one, data: one.data.toString() } : one)));

for (const name of readdirSync(golden).filter((file) => file.endsWith('.upstream.sse'))) {
  test(`${name}: the same events at every cut`, () => {
    const bytes = readFileSync(new URL(name, golden));
    const expected = same(run([bytes]));
    for (let cut = 1; cut < bytes.length; cut += 1) {
      assert.equal(same(run([bytes.subarray(0, cut), bytes.subarray(cut)])), expected, `cut at ${cut}`);
    }
    assert.equal(same(run(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)))), expected);
  });
}

test('any text and arguments come out as they went in, however cut', () => {
  const pieces = fc.array(fc.string({ unit: 'grapheme', maxLength: 6 }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(pieces, pieces, fc.array(fc.nat(2000), { maxLength: 6 }), (texts, parts, cuts) => {
      const json = parts.map((part) => delta(1, { type: 'input_json_delta', partial_json: part })).join('');
      const stream = Buffer.from(
        start() +
          text(...texts) +
          block(1, { type: 'tool_use', id: 't', name: 'f', input: {} }) +
          json +
          stop(1) +
          finish('tool_use', { output_tokens: 9 }) +
          END,
      );
      const at = [0, ...cuts.filter((cut) => cut < stream.length).toSorted((a, b) => a - b), stream.length];
      const events = run(at.slice(1).map((end, index) => stream.subarray(at[index], end)));
      assert.ok(isClean(events));
      assert.deepEqual(assembled(events), {
        content: texts.join(''),
        reasoning: '',
        calls: [{ id: 't', name: 'f', arguments: parts.join('') || '{}' }],
      });
      const chars = [...texts, parts.join('') || '{}', 'f'].join('').length;
      assert.equal(
        factsOf(events).reduce((sum, { outputChars }) => sum + outputChars, 0),
        chars,
      );
    }),
    { numRuns: 200 },
  );
});

for (const [reason, expected] of Object.entries({
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  pause_turn: 'length',
  refusal: 'content_filter',
  tool_use: 'tool_calls',
  something_new: 'stop',
})) {
  test(`${reason} is ${expected}, in a stream and in a whole answer`, () => {
    const call = { type: 'tool_use', id: 't', name: 'f', input: {} };
    const usage = { input_tokens: 1, output_tokens: 2 };
    assert.equal(finishOf(whole({ type: 'message', content: [call], stop_reason: reason, usage })), expected);
    const events = run([start() + block(0, call) + stop(0) + finish(reason, usage) + END]);
    assert.equal(finishOf(events), expected);
    const isWhole = expected === 'stop' || expected === 'tool_calls';
    assert.equal(assembled(events).calls[0]?.arguments, isWhole ? '{}' : '');
  });
}

test('tool_use without a call is a stop', () => {
  assert.equal(finishOf(run([start() + text('a') + finish('tool_use', { output_tokens: 1 }) + END])), 'stop');
});

test('a call that ended is whole once the model goes on, whatever stops it later', () => {
  const calls = ['a', 'b'].map((name, at) => block(at, { type: 'tool_use', id: name, name, input: {} }));
  const events = run([start() + calls[0] + stop(0) + calls[1] + finish('max_tokens', { output_tokens: 1 }) + END]);
  assert.deepEqual(
    assembled(events).calls.map((call) => call.arguments),
    ['{}', ''],
  );
});

test('usage: later totals replace earlier ones, what is left out stays, a zero replaces nothing', () => {
  const first = { input_tokens: 25, cache_read_input_tokens: 100, cache_creation_input_tokens: 7, output_tokens: 1 };
  const stream = (...last: object[]): ChatEvent[] =>
    run([
      start(first) + text('a') + last.map((usage, at) => finish(at === 0 ? 'end_turn' : null, usage)).join('') + END,
    ]);
  assert.deepEqual(usageOf(stream({ output_tokens: 15 })), { ...told(132, 100, 15), cacheWrite: 7 });
  const zeros = { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: null, output_tokens: 15 };
  assert.deepEqual(usageOf(stream(zeros)), { ...told(132, 100, 15), cacheWrite: 7 });
  assert.deepEqual(usageOf(stream({ input_tokens: 30, output_tokens: 10 }, { output_tokens: 15 })), {
    ...told(137, 100, 15),
    cacheWrite: 7,
  });
  assert.equal(factsOf(stream({ output_tokens: 15 })).at(-1)?.usageOnly, true);
  const late = run([
    start({ input_tokens: 0, output_tokens: 0 }) +
      text('a') +
      finish('end_turn', { input_tokens: 5, output_tokens: 3 }) +
      END,
  ]);
  assert.deepEqual(usageOf(late), told(5, 0, 3));
});

test('usage that is odd or missing is not taken, and flagged', () => {
  const answer = (usage: unknown) =>
    factsOf(whole({ type: 'message', content: [], stop_reason: 'end_turn', usage }))[0];
  for (const [usage, flag] of [
    [null, 'usage_missing'],
    [{ input_tokens: 5 }, 'usage_missing'],
    ['x', 'not_an_object'],
    [{ input_tokens: '5', output_tokens: 1 }, 'odd_prompt'],
    [{ input_tokens: 5, output_tokens: -1 }, 'odd_completion'],
    [{ input_tokens: 5, output_tokens: 1.5 }, 'odd_completion'],
    [{ input_tokens: 5, output_tokens: 1, cache_read_input_tokens: 2 ** 40 }, 'odd_details'],
  ] as const) {
    assert.deepEqual([answer(usage)?.usage, answer(usage)?.usageFlag], [null, flag]);
  }
  const silent = run([start() + text('12345678') + finish('end_turn') + END]);
  assert.deepEqual(usageOf(silent), { ...told(20, 0, 2), source: 'estimate' });
  assert.equal(factsOf(silent).at(-1)?.usageFlag, 'usage_missing');
});

test('an answer that is cut off is not clean, and its prompt is known', () => {
  const events = run([start() + text('Half')]);
  assert.deepEqual(kinds(events), ['chunk', 'chunk', 'end']);
  assert.equal(isClean(events), false);
  assert.deepEqual(usageOf(events), told(20, 0, 1));
  assert.equal(isClean(run([])), false);
});

test('the end is the stop reason or message_stop, and nothing after it counts', () => {
  assert.ok(isClean(run([start() + text('a') + finish('end_turn', { output_tokens: 1 })])));
  assert.ok(isClean(run([start() + text('a') + END])));
  const ended = start() + text('a') + finish('end_turn', { output_tokens: 1 }) + END;
  assert.equal(same(run([ended + text('b')])), same(run([ended])));
});

test('pings and comments keep connections awake', () => {
  const events = run([': hello\n\n', start(), event({ type: 'ping' })]);
  assert.deepEqual(kinds(events), ['comment', 'chunk', 'comment', 'end']);
});

for (const [type, code] of Object.entries({
  overloaded_error: 'upstream_overloaded',
  rate_limit_error: 'upstream_rate_limited',
  timeout_error: 'upstream_timeout',
  api_error: 'upstream_error',
  invalid_request_error: 'upstream_rejected',
  something_new: 'upstream_error',
})) {
  test(`${type} inside a good answer is ${code}`, () => {
    const error = { type: 'error', error: { type, message: 'Sorry' } };
    const events = run([start() + text('Half') + event(error) + text('more') + END]);
    assert.deepEqual(kinds(events), ['chunk', 'chunk', 'error']);
    const failure = events.at(-1);
    assert.ok(failure?.kind === 'error');
    assert.deepEqual([failure.error.code, failure.error.type, failure.error.message], [code, type, 'Sorry']);
    assert.deepEqual(failure.usage, told(20, 0, 1));
    assert.deepEqual([errorOf(whole(error))?.code, errorOf(whole(error))?.type], [code, type]);
  });
}

test('error statuses keep their status, type, words and Retry-After; 529 is a 503', () => {
  const error = (type: string) => ({ type: 'error', error: { type, message: 'Sorry' }, request_id: 'req_1' });
  const cases = [
    [400, 'invalid_request_error', 'upstream_rejected', 400],
    [404, 'not_found_error', 'upstream_rejected', 404],
    [413, 'request_too_large', 'upstream_rejected', 413],
    [429, 'rate_limit_error', 'upstream_rate_limited', 429],
    [500, 'api_error', 'upstream_error', 500],
    [504, 'timeout_error', 'upstream_timeout', 504],
    [529, 'overloaded_error', 'upstream_overloaded', 503],
  ] as const;
  for (const [status, type, code, shown] of cases) {
    const failure = errorOf(whole(error(type), { status, headers: { 'retry-after': '7' } }));
    assert.deepEqual(
      [failure?.code, failure?.type, failure?.status, failure?.message, failure?.retryAfterMs],
      [code, type, shown, 'Sorry', 7000],
    );
    assert.match(failure?.original ?? '', /req_1/);
  }
  const html = errorOf(whole('<html>Bad gateway</html>', { status: 502 }));
  assert.deepEqual([html?.code, html?.status, html?.type], ['upstream_error', 502, 'upstream_error']);
});

test('a refused key is told without its words', () => {
  const error = { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key sk-secret' } };
  for (const events of [whole(error, { status: 401 }), whole(error), run([start() + event(error)])]) {
    const failure = errorOf(events);
    assert.equal(failure?.code, 'upstream_auth_failed');
    assert.doesNotMatch(JSON.stringify([failure, failure.message, failure.original]), /sk-secret/);
  }
});

test('answers that are no message are refused', () => {
  for (const body of [
    '',
    'no JSON',
    '[]',
    '{"type":"message"}',
    `{"content":${'['.repeat(5000)}${']'.repeat(5000)}}`,
  ]) {
    assert.equal(errorOf(whole(body))?.code, 'upstream_invalid_response', body.slice(0, 40));
  }
  for (const events of [
    run(['data: nonsense\n\n']),
    run([start() + delta(0, { type: 'text_delta', text: 'a' })]),
    run([start() + event({ type: 'content_block_start', index: 0 })]),
    run([start() + text('a') + finish('end_turn') + text('b')]),
    run([start() + Array.from({ length: 1100 }, (_, at) => block(at, { type: 'text', text: '' })).join('')]),
    whole('{}', { headers: { 'content-encoding': 'gzip' } }),
    whole('{}', { headers: { 'content-type': 'text/event-stream' } }),
  ]) {
    assert.equal(errorOf(events)?.code, 'upstream_invalid_response');
    assert.equal(kinds(events).at(-1), 'error');
  }
});

test('what is kept is bounded', () => {
  const large = 'x'.repeat(2000);
  const content = [{ type: 'text', text: large }];
  const thought = block(0, { type: 'thinking' }) + delta(0, { type: 'thinking_delta', thinking: large });
  for (const events of [
    whole({ type: 'message', content, usage: {} }, { maxAnswerBytes: 1000 }),
    run([start() + text(large)], { maxEventBytes: 1000 }),
    run([start() + thought], { maxAnswerBytes: 1000 }),
  ]) {
    assert.equal(errorOf(events)?.code, 'upstream_response_too_large');
  }
  assert.equal(errorOf(run([start() + text(large)], { maxAnswerBytes: 1000 })), undefined, 'text is passed on at once');
  assert.equal(errorOf(whole('x'.repeat(100_000), { status: 500 }))?.original?.length, 500);
});

test('a whole answer to a stream request is an answer', () => {
  const answer =
    '{"type":"message","content":[{"type":"text","text":"a"}],"usage":{"input_tokens":1,"output_tokens":1}}';
  assert.deepEqual(kinds(run([answer], { headers: { 'content-type': 'application/json' } })), ['answer', 'end']);
});

test('thinking goes on as reasoning_content and, signed, as a block to send back', () => {
  const thinking =
    block(0, { type: 'thinking', thinking: 'a', signature: '' }) + delta(0, { type: 'thinking_delta', thinking: 'b' });
  const rest = stop(0) + finish('end_turn', { output_tokens: 1 }) + END;
  const signed = run([start() + thinking + delta(0, { type: 'signature_delta', signature: 'c2ln' }) + rest]);
  assert.equal(assembled(signed).reasoning, 'ab');
  assert.match(
    same(signed),
    /"thinking_blocks\\":\[\{\\"type\\":\\"thinking\\",\\"thinking\\":\\"ab\\",\\"signature\\":\\"c2ln\\"\}\]/,
  );
  const unsigned = run([start() + thinking + rest]);
  assert.equal(assembled(unsigned).reasoning, 'ab');
  assert.doesNotMatch(same(unsigned), /thinking_blocks/);
});
