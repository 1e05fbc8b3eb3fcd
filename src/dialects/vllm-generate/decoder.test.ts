import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { chatRequest, decodeContext, deployment } from '../../../test/golden/vllm-generate/request.ts';
import type { ChatEvent, ChunkFacts } from '../../core/dialect.ts';
import { HeaderList } from '../../core/http.ts';
import type { Backend } from '../../core/snapshot.ts';
import { createVllmGenerate } from './dialect.ts';

const words = (text: string): number => text.split(' ').filter((word) => word !== '').length;
const dialect = createVllmGenerate({ estimateTokens: words });
const PROMPT = '<|im_start|>user\nHi "ß"<|im_end|>\n<|im_start|>assistant\n';

interface Setup {
  readonly fields?: Parameters<typeof chatRequest>[0];
  readonly options?: Backend['options'];
  readonly type?: string;
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly completions?: boolean;
  readonly maxEventBytes?: number;
  readonly maxAnswerBytes?: number;
}

interface Choice {
  readonly index: number;
  readonly delta?: { role?: string; content?: string };
  readonly message?: { role: string; content: string };
  readonly text?: string;
  readonly finish_reason: string | null;
}

interface Shown {
  readonly id: string;
  readonly object: string;
  readonly model: string;
  readonly created: number;
  readonly choices: Choice[];
  readonly usage?: Record<string, number>;
}

function run(chunks: readonly (string | Buffer)[], setup: Setup = {}): ChatEvent[] {
  const {
    fields = {},
    options = {},
    type = 'text/plain',
    status = 200,
    headers = {},
    completions = false,
    ...limits
  } = setup;
  const own = completions ? { prompt: 'Once' } : { messages: [{ role: 'user', content: 'Hi "ß"' }] };
  const request = chatRequest({ model: 'm', stream: true, ...own, ...fields }, completions ? 'completions' : 'chat');
  const head = { status, headers: new HeaderList([['content-type', type], ...Object.entries(headers)]) };
  const decoder = dialect.decoder(head, decodeContext(request, { deployment: deployment({ options }), ...limits }));
  const events = chunks.flatMap((chunk) => decoder.push(Buffer.from(chunk)));
  return [...events, ...decoder.end(), ...decoder.push(Buffer.from('late')), ...decoder.end()];
}

function shown(events: readonly ChatEvent[]): { json: Shown; facts: ChunkFacts }[] {
  return events.flatMap((event) =>
    event.kind === 'chunk' || event.kind === 'answer'
      ? [{ json: JSON.parse(event.data.toString()) as Shown, facts: event.facts }]
      : [],
  );
}

function assembled(events: readonly ChatEvent[]): { texts: string[]; finish: string[] } {
  const texts: string[] = [];
  const finish: string[] = [];
  for (const { json } of shown(events)) {
    for (const { index, delta, text, finish_reason: reason } of json.choices) {
      texts[index] = (texts[index] ?? '') + (delta?.content ?? text ?? '');
      if (reason !== null) finish[index] = reason;
    }
  }
  return { texts, finish };
}

const kinds = (events: readonly ChatEvent[]): string[] => events.map(({ kind }) => kind);
const errorOf = (events: readonly ChatEvent[]) => events.find((event) => event.kind === 'error')?.error;
const isClean = (events: readonly ChatEvent[]): boolean => events.some((event) => event.kind === 'end' && event.clean);
const record = (...texts: readonly string[]): string => JSON.stringify({ text: texts.map((text) => PROMPT + text) });
const sse = (json: object): string => `data: ${JSON.stringify(json)}\n\n`;

for (const [name, separator] of Object.entries({ NUL: '\0', LF: '\n', CRLF: '\r\n' })) {
  test(`cumulative text with the prompt becomes deltas (${name})`, () => {
    const events = run([record('') + separator, record('Good ') + separator, record('Good day') + separator]);
    assert.deepEqual(kinds(events), ['chunk', 'chunk', 'chunk', 'chunk', 'end']);
    const [first, second, finish, usage] = shown(events);
    assert.deepEqual(first?.json, {
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1700000000,
      model: 'shown',
      choices: [{ index: 0, delta: { role: 'assistant', content: 'Good ' }, logprobs: null, finish_reason: null }],
    });
    assert.deepEqual(first.facts, { content: true, outputChars: 5, finishReason: null, usage: null, usageOnly: false });
    assert.deepEqual(second?.json.choices[0]?.delta, { content: 'day' });
    assert.deepEqual([finish?.json.choices[0]?.delta, finish?.facts.finishReason], [{}, 'stop']);
    assert.deepEqual(usage?.json.choices, []);
    assert.deepEqual(usage?.json.usage, { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 });
    assert.deepEqual(usage?.facts.usage, { prompt: 7, cached: 0, completion: 2, reasoning: 0, source: 'estimate' });
    assert.equal(usage?.facts.usageOnly, true);
    assert.equal(isClean(events), true);
  });
}

test('text_completion, without a prompt to strip when the server gives none', () => {
  const events = run(['{"text":["Once upon"]}\n', '{"text":["Once upon a"]}\n'], { completions: true });
  assert.deepEqual(assembled(events), { texts: [' upon a'], finish: ['stop'] });
  assert.equal(shown(events)[0]?.json.object, 'text_completion');
  const bare = run(['{"text":"upon"}\n', '{"text":"upon a"}'], { completions: true });
  assert.deepEqual(assembled(bare), { texts: ['upon a'], finish: ['stop'] });
  assert.equal(isClean(bare), true);
});

test('finish_reason length: by count, by told usage, by told reason', () => {
  const three = [record('a') + '\n', record('a b') + '\n', record('a b c') + '\n'];
  assert.deepEqual(assembled(run(three, { fields: { max_tokens: 3 } })).finish, ['length']);
  assert.deepEqual(assembled(run(three, { fields: { max_tokens: 4 } })).finish, ['stop']);
  const told = JSON.stringify({ text: [`${PROMPT}a b c`], usage: { prompt_tokens: 11, completion_tokens: 4 } });
  const events = run([`${told}\n`], { fields: { max_tokens: 4 } });
  assert.deepEqual(assembled(events).finish, ['length']);
  assert.deepEqual(shown(events).at(-1)?.facts.usage, {
    prompt: 11,
    cached: 0,
    completion: 4,
    reasoning: 0,
    source: 'upstream',
  });
  const reason = (finish_reason: unknown): string => `${JSON.stringify({ text: [`${PROMPT}a`], finish_reason })}\n`;
  assert.deepEqual(assembled(run([reason(null), reason('length')])).finish, ['length']);
  assert.deepEqual(assembled(run([reason([null]), reason(['stop'])], { fields: { max_tokens: 1 } })).finish, ['stop']);
});

test('batched growth is not taken for one token', () => {
  const events = run([`${record('one two three four five')}\n`]);
  assert.equal(shown(events).at(-1)?.json.usage?.['completion_tokens'], 5);
});

test('several choices: by position, or by what they continue when a record holds only some', () => {
  const fields = { n: 2 };
  const all = run([record('a', '') + '\n', record('a', 'b') + '\n', record('a!', 'b?') + '\n'], { fields });
  assert.deepEqual(assembled(all), { texts: ['a!', 'b?'], finish: ['stop', 'stop'] });
  const some = run(
    ['xa', 'ya', 'xab', 'yab', 'xabc'].map((text) => `${record(text)}\n`),
    { fields },
  );
  assert.deepEqual(assembled(some).texts, ['xabc', 'yab']);
  const swapped = run([record('x', 'y') + '\n', record('y2', 'x2') + '\n'], { fields });
  assert.deepEqual(assembled(swapped).texts, ['x2', 'y2']);
  assert.equal(errorOf(run([record('a', 'b', 'c') + '\n'], { fields }))?.code, 'upstream_invalid_response');
  const silent = run([record('a', '') + '\n'], { fields });
  assert.deepEqual(shown(silent).filter(({ json }) => json.choices[0]?.delta?.role === 'assistant').length, 2);
});

test('text that was given out never changes; an older state is passed over', () => {
  const changed = run([record('abc') + '\n', record('abX') + '\n', record('abXY') + '\n']);
  assert.equal(errorOf(changed)?.code, 'upstream_invalid_response');
  assert.deepEqual(kinds(changed), ['chunk', 'error']);
  assert.deepEqual(assembled(run([record('abc') + '\n', record('ab') + '\n', record('abcd') + '\n'])).texts, ['abcd']);
});

test('delta streams by option', () => {
  const events = run(['{"text":["a "]}\n{"text":["b"]}\n'], { options: { stream_text: 'delta' } });
  assert.deepEqual(assembled(events).texts, ['a b']);
});

const token = (text: string, special = false) => ({
  token: { id: 1, text, special },
  generated_text: null,
  details: null,
});

test('token events: pieces, special tokens left out, details at the end, cut without them', () => {
  const setup = { options: { version: 'max-new-tokens' }, type: 'text/event-stream; charset=utf-8' };
  const last = {
    token: { id: 2, text: '</s>', special: true },
    generated_text: 'Good day',
    details: { finish_reason: 'eos_token', generated_tokens: 3, input_length: 5 },
  };
  const events = run([sse(token('Good')), ': ping\n\n', sse(token(' day')), sse(last)], setup);
  assert.deepEqual(assembled(events), { texts: ['Good day'], finish: ['stop'] });
  assert.deepEqual(shown(events).at(-1)?.json.usage, { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 });
  const noDetails = run([sse(token('Good')), sse({ ...last, details: null })], setup);
  assert.equal(isClean(noDetails), true);
  const cut = run([sse(token('Good')), sse(token(' day'))], setup);
  assert.deepEqual([assembled(cut).texts, isClean(cut)], [['Good day'], false]);
  const done = run([sse(token('Good')), sse({ ...last, token: token('!').token }), 'data: [DONE]\n\n'], setup);
  assert.deepEqual([assembled(done).texts, isClean(done)], [['Good!'], true]);
});

test('errors in the stream end it, with what the service said kept apart', () => {
  const events = run([record('a') + '\n', '{"error":{"message":"out of memory","code":500}}\n', record('ab')]);
  assert.deepEqual(kinds(events), ['chunk', 'error']);
  assert.equal(errorOf(events)?.code, 'upstream_error');
  assert.equal(errorOf(events)?.message, 'out of memory');
  assert.equal(errorOf(run(['{"error":"busy","status":429}\n']))?.code, 'upstream_rate_limited');
  assert.equal(errorOf(run(['{"detail":"no"}\n']))?.code, 'upstream_error');
  assert.equal(
    errorOf(run([`${JSON.stringify({ text: [PROMPT], finish_reason: 'abort' })}\n`]))?.code,
    'upstream_stream_interrupted',
  );
});

test('what is no record of ours is an error, not text', () => {
  for (const line of ['<html>\n', '{"a":1}\n', '[]\n', '7\n', '{"text":5}\n', '{"text":[1]}\n', '{"text":\n']) {
    const events = run([line]);
    assert.deepEqual(kinds(events), ['error'], line);
    assert.equal(errorOf(events)?.code, 'upstream_invalid_response', line);
  }
});

test('a cut stream ends unclean with what was whole', () => {
  const cut = run([record('a') + '\n', record('a b').slice(0, -3)]);
  assert.deepEqual([assembled(cut), kinds(cut)], [{ texts: ['a'], finish: [] }, ['chunk', 'end']]);
  assert.equal(isClean(cut), false);
  assert.deepEqual(run([]), [{ kind: 'end', clean: false }]);
  assert.deepEqual(run(['\n\n\0']), [{ kind: 'end', clean: false }]);
});

test('sizes are bounded, the prompt that is repeated is not counted', () => {
  const limits = { maxEventBytes: 400, maxAnswerBytes: 400 };
  const long = 'x'.repeat(1000);
  for (const setup of [limits, { ...limits, type: 'text/event-stream' }, { ...limits, fields: { stream: false } }]) {
    const prefix = setup === limits || 'fields' in setup ? '' : 'data: ';
    const events = run([`${prefix}{"text":["`, long, long, '"]}\n\n'], setup);
    assert.deepEqual([kinds(events), errorOf(events)?.code], [['error'], 'upstream_response_too_large']);
    assert.equal(errorOf(run([`${prefix}${record('x'.repeat(370))}\n\n`], setup)), undefined);
  }
});

test('whole answers: prompt stripped, usage and reasons told or made', () => {
  const fields = { stream: false };
  const [event, end] = run([record('Good day').slice(0, 9), record('Good day').slice(9)], { fields });
  assert.deepEqual(end, { kind: 'end', clean: true });
  assert.deepEqual(shown([event!])[0]?.json, {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1700000000,
    model: 'shown',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Good day', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 },
  });
  const two = run(['{"text":["Once a","Once b c"]}'], {
    fields: { ...fields, n: 2, max_tokens: 2 },
    completions: true,
  });
  assert.deepEqual(assembled(two), { texts: [' a', ' b c'], finish: ['stop', 'length'] });
  const listed = run(
    ['[{"generated_text":"x","details":{"finish_reason":"length","generated_tokens":9,"input_length":4}}]'],
    { fields },
  );
  assert.equal(shown(listed)[0]?.json.choices[0]?.finish_reason, 'length');
  assert.deepEqual(shown(listed)[0]?.facts.usage?.source, 'upstream');
});

test('whole answers that are not what was asked for', () => {
  const fields = { stream: false };
  const codes = [['nothing here'], ['{"text":["a"]'], ['{"error":"x"}'], ['{"detail":[{"msg":"x"}],"status":422}']].map(
    (chunks) => errorOf(run(chunks, { fields }))?.code,
  );
  assert.deepEqual(codes, [
    'upstream_invalid_response',
    'upstream_invalid_response',
    'upstream_error',
    'upstream_rejected',
  ]);
  assert.equal(errorOf(run([record('a')], { fields: { ...fields, n: 2 } }))?.code, 'upstream_invalid_response');
  assert.equal(errorOf(run([], { fields }))?.code, 'upstream_invalid_response');
});

test('statuses become errors with their status, the message of the service and its Retry-After', () => {
  const head = { 'retry-after': '7' };
  const busy = refused(503, '{"error":"busy"}', head);
  assert.deepEqual(
    [busy?.code, busy?.status, busy?.message, busy?.retryAfterMs],
    ['upstream_overloaded', 503, 'busy', 7000],
  );
  assert.equal(refused(503, '', { 'retry-after': 'soon' })?.retryAfterMs, null);
  assert.equal(refused(429, '')?.code, 'upstream_rate_limited');
  assert.equal(refused(504, '')?.code, 'upstream_timeout');
  const auth = refused(401, '{"error":"wrong key sk-123"}');
  assert.deepEqual([auth?.code, auth?.original], ['upstream_auth_failed', null]);
  assert.doesNotMatch(auth?.message ?? '', /sk-123/);
  const page = refused(500, '<html>');
  assert.deepEqual([page?.original, page?.message], ['<html>', 'The model service answered with status 500.']);
  const rejected = refused(422, '{"detail":[{"msg":"top_p must be in (0, 1]"}]}');
  assert.deepEqual(
    [rejected?.code, rejected?.status, rejected?.message],
    ['upstream_rejected', 422, 'top_p must be in (0, 1]'],
  );
  assert.equal(refused(200, record('a'), { 'content-encoding': 'gzip' })?.code, 'upstream_invalid_response');
  assert.equal(refused(503, '', { 'content-encoding': 'br' })?.code, 'upstream_overloaded');
  assert.equal(refused(200, record('a'), { 'content-encoding': 'identity' }), undefined);
});

function refused(status: number, body: string, headers: Record<string, string> = {}) {
  return errorOf(run([body.slice(0, 3), body.slice(3)], { status, headers }));
}

test('property: any cut of the bytes gives the same text, finish and usage', () => {
  const text = 'Grüße 😀 "x" \u2028 naïve 👩‍👩‍👧';
  const units = Array.from(text);
  const stream = Buffer.from(units.map((_, at) => `${record(units.slice(0, at + 1).join(''))}\0`).join(''));
  const want = run([stream]);
  assert.deepEqual(assembled(want).texts, [text]);
  fc.assert(
    fc.property(fc.array(fc.nat(stream.length), { maxLength: 40 }), (cuts) => {
      const at = [0, ...cuts.toSorted((a, b) => a - b), stream.length];
      const chunks = at.slice(1).map((end, index) => stream.subarray(at[index], end));
      assert.deepEqual(run(chunks), want);
    }),
    { numRuns: 150 },
  );
});
