import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { ChatEvent, DecodeContext } from '../../core/dialect.ts';
import { HeaderList } from '../../core/http.ts';
import { createOpenAiBackend, createOpenAiClient } from './dialect.ts';

const client = createOpenAiClient();
const backend = createOpenAiBackend();
// Clients read what comes without knowing its type.
// oxlint-disable-next-line typescript/no-explicit-any
type Loose = any;

interface Setup {
  modelShown?: string;
  body?: object;
  includeUsage?: boolean;
  maxEventBytes?: number;
  type?: string;
}

function context({ modelShown = 'gpt-test', body = {}, maxEventBytes = 1 << 24 }: Setup): DecodeContext {
  const raw = Buffer.from(
    JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }], stream: true, ...body }),
  );
  const request = client.parse({ method: 'POST', path: '/v1/chat/completions', headers: new HeaderList([]) }, raw, {
    jsonDepth: 64,
    jsonKeys: 25_000,
  });
  return {
    request,
    deployment: {} as Loose,
    modelShown,
    answerId: 'x',
    created: 1,
    maxEventBytes,
    maxAnswerBytes: 1 << 24,
  };
}

function decode(chunks: readonly (string | Buffer)[], setup: Setup = {}): ChatEvent[] {
  const head = {
    status: 200,
    headers: new HeaderList([['content-type', setup.type ?? 'text/event-stream; charset=utf-8']]),
  };
  const decoder = backend.decoder(head, context(setup));
  return [...chunks.flatMap((chunk) => decoder.push(Buffer.from(chunk))), ...decoder.end()];
}

/** Through to the client: its bytes, and what it reads in them. */
function relay(chunks: readonly (string | Buffer)[], setup: Setup = {}) {
  const events = decode(chunks, setup);
  const encoder = client.encoder({ stream: true, includeUsage: setup.includeUsage ?? false });
  const raw = Buffer.concat(encoder.write(events)).toString();
  const lines = raw.split('\n\n').filter((line) => line.startsWith('data: '));
  const json = lines.filter((line) => line !== 'data: [DONE]').map((line): Loose => JSON.parse(line.slice(6)));
  return { events, raw, json, done: lines.filter((line) => line === 'data: [DONE]').length, text: textOf(json) };
}

const textOf = (json: Loose[], index = 0): string =>
  json
    .flatMap(({ choices }) => choices ?? [])
    .filter((choice: Loose) => choice.index === index)
    .map((choice: Loose) => choice.delta?.content ?? '')
    .join('');

/** Puts tool calls together as clients do: by index. */
function assemble(json: Loose[]): Loose[] {
  const calls: Loose[] = [];
  for (const part of json
    .flatMap(({ choices }) => choices)
    .flatMap((choice: Loose) => choice.delta?.tool_calls ?? [])) {
    calls[part.index] ??= { id: '', name: '', arguments: '' };
    calls[part.index].id ||= part.id ?? '';
    calls[part.index].name += part.function?.name ?? '';
    calls[part.index].arguments += part.function?.arguments ?? '';
  }
  return calls;
}

const chunk = (choices: unknown, rest: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'gpt-test', choices, ...rest })}\n\n`;
const says = (content: string, finish: string | null = null, index = 0, rest: object = {}): string =>
  chunk([{ index, delta: { content }, finish_reason: finish }], rest);
const calls = (tool_calls: unknown, finish: string | null = null): string =>
  chunk([{ index: 0, delta: { tool_calls }, finish_reason: finish }]);
const STOP = chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]);
const DONE = 'data: [DONE]\n\n';
const usageOf = (events: readonly ChatEvent[]): Loose[] =>
  events.flatMap((event) => ('facts' in event && event.facts.usage !== null ? [event.facts.usage] : []));
const total = (prompt: number, completion: number): object => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
});

test('chunks pass byte for byte, one event each, at every cut', () => {
  const stream = [says('Al'), says('pha'), says(' \\"größe\\" 世界 😀\n'), says('!'), STOP, DONE].join('');
  const whole = Buffer.from(stream);
  assert.equal(relay([stream]).raw, stream);
  for (let cut = 1; cut < whole.length; cut += 1)
    assert.equal(relay([whole.subarray(0, cut), whole.subarray(cut)]).raw, stream);
});

test('each event goes on when it is there, whatever ends its lines (SSE-01)', () => {
  const decoder = backend.decoder({ status: 200, headers: new HeaderList([]) }, context({}));
  for (const ending of ['\n\r\n', '\r\r', '\r\n\n']) {
    assert.equal(decoder.push(Buffer.from(says('x').trimEnd() + ending)).length, 1, JSON.stringify(ending));
  }
});

test('an event of several data lines is one chunk on one line (SSE-02)', () => {
  const seen = relay([
    'data: {"id":"c1","created":1,\r',
    '\ndata: "model":"gpt-test","choices":[{"index":0,"delta":{"content":"two lines"},"finish_reason":"stop"}]}\r',
    '\n\r',
    '\ndata: [DONE]\r\n',
    '\r',
    '\n',
  ]);
  assert.deepEqual([seen.json.length, seen.text, seen.done], [1, 'two lines', 1]);
});

test('comments stay comments and empty blocks vanish (SSE-04, SSE-05)', () => {
  const seen = relay([
    ': PROCESSING\n\n:\n\n',
    says('A'),
    ': ping\n',
    'retry: 3\n\nid: 7\nevent: message\n\ndata:\n\n',
    says('B', 'stop'),
    ':\n',
    DONE,
  ]);
  assert.deepEqual([seen.text, seen.json.length, seen.done], ['AB', 2, 1]);
  assert.ok(!seen.raw.includes('data: :') && !seen.raw.includes('data:\n') && !seen.raw.includes('data: \n'));
  assert.ok(seen.raw.startsWith(': PROCESSING\n\n'));
});

test('a finish without [DONE] is complete, a stop in the middle is not (SSE-07)', () => {
  const good = relay([says('done'), STOP, chunk([], { usage: total(3, 1) })], { includeUsage: true });
  assert.deepEqual(good.events.at(-1), { kind: 'end', clean: true });
  assert.deepEqual(
    [good.done, good.json.some((json) => 'error' in json), good.json.at(-1).usage.total_tokens],
    [1, false, 4],
  );
  for (const cut of [[says('half')], [], [says('a', 'stop', 0), says('b', null, 1)]]) {
    const bad = relay(cut);
    assert.deepEqual(bad.events.at(-1), { kind: 'end', clean: false });
    assert.equal(bad.json.at(-1).error.code, 'upstream_stream_interrupted');
    assert.ok(bad.raw.endsWith(DONE) && bad.done === 1);
  }
  assert.deepEqual(relay([says('a', 'stop').trimEnd()]).events.at(-1), { kind: 'end', clean: true });
});

test('long lines pass, and above the bound comes an error event (SSE-08)', () => {
  const text = 'A'.repeat(1_572_864);
  const body = Buffer.from(
    calls([{ index: 0, id: 't1', type: 'function', function: { name: 'save', arguments: text } }]),
  );
  const pieces: Buffer[] = [];
  for (let at = 0; at < body.length; at += 65_536) pieces.push(body.subarray(at, at + 65_536));
  const seen = relay([...pieces, chunk([{ index: 0, delta: {}, finish_reason: 'tool_calls' }]), DONE]);
  assert.equal(assemble(seen.json)[0].arguments.length, text.length);
  const cut = relay([says('a'), ...pieces], { maxEventBytes: 1 << 20 });
  assert.equal(cut.json.at(-1).error.code, 'upstream_response_too_large');
  assert.deepEqual([cut.text, cut.done], ['a', 1]);
});

test('choices are always an array for the client (SSE-10)', () => {
  const preamble = chunk([]);
  const seen = relay(
    [
      preamble,
      says('ok', 'stop'),
      `data: ${JSON.stringify({ id: 'c1', model: 'gpt-test', usage: total(7, 1) })} \n\n`,
      chunk(null),
      DONE,
    ],
    { includeUsage: true },
  );
  assert.equal(seen.text, 'ok');
  assert.equal(seen.json.length, 4);
  assert.ok(seen.json.every(({ choices }) => Array.isArray(choices)));
  assert.equal(usageOf(seen.events)[0].prompt, 7);
  assert.ok(seen.raw.startsWith(preamble));
});

test('Unicode line ends are content (SSE-11)', () => {
  const text = 'a\u2028b\u2029c\u0085d';
  const seen = relay([
    says('x'),
    `data: {"model":"gpt-test","choices":[{"index":0,"delta":{"content":"${text}"},"finish_reason":"stop"}]}\n\n`,
    DONE,
  ]);
  assert.deepEqual([seen.text, seen.json.length], [`x${text}`, 2]);
});

test('usage is read and hidden unless asked for (USE-01, USE-02)', () => {
  const stream = [
    says('hey', null, 0, { usage: null }),
    chunk([{ index: 0, delta: {}, finish_reason: 'stop' }], { usage: null }),
    chunk([], { usage: total(11, 2) }),
    DONE,
  ];
  const hidden = relay(stream);
  assert.ok(hidden.json.every((json) => json.choices.length > 0 && (json.usage ?? null) === null));
  assert.deepEqual(usageOf(hidden.events), [
    { prompt: 11, cached: 0, completion: 2, reasoning: 0, source: 'upstream' },
  ]);
  const shown = relay(stream, { includeUsage: true });
  assert.equal(shown.json.filter((json) => (json.usage ?? null) !== null).length, 1);
  assert.deepEqual(shown.json.at(-1).choices, []);
});

test('running totals: the last one wins, per choice, and the final chunk is taken as it is (USE-04)', () => {
  const stream = [
    says('a', null, 0, { usage: total(10, 1) }),
    says('b', null, 1, { usage: total(10, 1) }),
    says('a', 'stop', 0, { usage: total(10, 2) }),
    says('bb', 'stop', 1, { usage: total(10, 3) }),
  ];
  const running = relay(stream, { body: { n: 2 } });
  assert.deepEqual([usageOf(running.events).at(-1).prompt, usageOf(running.events).at(-1).completion], [10, 5]);
  assert.ok(running.json.every((json) => !('usage' in json)));
  assert.deepEqual([textOf(running.json, 0), textOf(running.json, 1)], ['aa', 'bbb']);
  const final = relay([...stream, chunk([], { usage: total(10, 5) }), DONE], { body: { n: 2 }, includeUsage: true });
  assert.equal(usageOf(final.events).at(-1).completion, 5);
  assert.equal(final.json.at(-1).usage.completion_tokens, 5);
  const one = relay([says('a', null, 0, { usage: total(4, 1) }), says('b', 'stop', 0, { usage: total(4, 2) }), DONE]);
  assert.equal(usageOf(one.events).at(-1).completion, 2);
});

test('odd usage is flagged, not taken, and the answer passes (USE-07)', () => {
  const seen = relay([says('ok', 'stop'), chunk([], { usage: { prompt_tokens: null, completion_tokens: 5 } }), DONE]);
  const flags = seen.events.flatMap((event) =>
    'facts' in event && event.facts.usageFlag !== undefined ? [event.facts] : [],
  );
  assert.deepEqual(
    flags.map(({ usage, usageFlag, usageOnly }) => [usage, usageFlag, usageOnly]),
    [[null, 'odd_prompt', true]],
  );
  assert.equal(seen.json.length, 1);
});

test('calls without an index get their place as index (TOOL-01)', () => {
  const seen = relay([
    calls([
      { id: 'c_a', type: 'function', function: { name: 'w', arguments: '{"city":"Paris"}' } },
      { id: 'c_b', type: 'function', function: { name: 't', arguments: '{"n":2512292042121000001}' } },
    ]),
    chunk([{ index: 0, delta: {}, finish_reason: 'tool_calls' }]),
    DONE,
  ]);
  assert.deepEqual(assemble(seen.json), [
    { id: 'c_a', name: 'w', arguments: '{"city":"Paris"}' },
    { id: 'c_b', name: 't', arguments: '{"n":2512292042121000001}' },
  ]);
});

test('a new id on an index in use opens a new call; fragments follow it (TOOL-02)', () => {
  const one = (id: string | null, text: string): string =>
    calls([
      {
        index: 0,
        ...(id === null ? {} : { id, type: 'function' }),
        function: { ...(id === null ? {} : { name: id }), arguments: text },
      },
    ]);
  const seen = relay([
    one('c_a', '{"city":'),
    one(null, '"Par'),
    one(null, 'is'),
    one(null, '"}'),
    one('c_b', '{"tz":'),
    one(null, '"J'),
    one(null, 'S'),
    one(null, 'T"}'),
    one('c_a', ''),
    one(null, ' '),
    STOP,
    DONE,
  ]);
  assert.deepEqual(assemble(seen.json), [
    { id: 'c_a', name: 'c_ac_a', arguments: '{"city":"Paris"} ' },
    { id: 'c_b', name: 'c_b', arguments: '{"tz":"JST"}' },
  ]);
  const kept = relay([
    calls([
      { index: 1, id: 'x', function: { name: 'f', arguments: '1' } },
      { index: 0, id: 'y', function: { name: 'g', arguments: '2' } },
    ]),
    STOP,
    DONE,
  ]);
  assert.deepEqual(
    assemble(kept.json).map(({ id }) => id),
    ['y', 'x'],
  );
});

test('a call without arguments ends as {}, one with arguments is left alone (TOOL-04)', () => {
  const open = [
    { index: 0, id: 'a', function: { name: 'snooze', arguments: '' } },
    { index: 1, id: 'b', function: { name: 'w' } },
  ];
  const seen = relay([
    calls(open),
    calls([{ index: 1, function: { arguments: '{"c":1}' } }]),
    chunk([{ index: 0, delta: {}, finish_reason: 'tool_calls' }]),
    DONE,
  ]);
  assert.deepEqual(
    assemble(seen.json).map((call) => call.arguments),
    ['{}', '{"c":1}'],
  );
  assert.equal(seen.json.at(-1).choices[0].finish_reason, 'tool_calls');
  assert.equal(seen.json.at(-2).id, 'c1');
});

test('a call that was cut off stays cut off (TOOL-05)', () => {
  const seen = relay([
    calls([
      { index: 0, id: 'a', function: { name: 'w', arguments: '{"city":"San Fr' } },
      { index: 1, id: 'b', function: { name: 'w', arguments: '' } },
    ]),
    chunk([{ index: 0, delta: {}, finish_reason: 'length' }]),
    DONE,
  ]);
  assert.deepEqual(
    assemble(seen.json).map((call) => call.arguments),
    ['{"city":"San Fr', ''],
  );
  assert.equal(seen.json.at(-1).choices[0].finish_reason, 'length');
});

test('an error inside a 200 stream is an error, and the last thing said (ERR-04)', () => {
  const object = '{"error":{"message":"Overloaded","type":"overloaded_error","param":null,"code":503},"x":1}';
  const seen = relay([says('Half', null, 0, { usage: total(4, 1) }), `data: ${object}\n\n`, says('more'), STOP, DONE]);
  assert.ok(seen.raw.endsWith(`data: ${object}\n\n${DONE}`));
  const [error, ...others] = seen.events.filter(({ kind }) => kind === 'error' || kind === 'end') as Loose[];
  assert.deepEqual(others, []);
  assert.deepEqual(
    [error.error.code, error.error.type, error.error.message, error.usage.prompt],
    ['upstream_overloaded', 'overloaded_error', 'Overloaded', 4],
  );
  const named = relay([says('a'), 'event: error\ndata: {"message":"bad","detail":1}\n\n']);
  assert.deepEqual(
    [named.json.at(-1).error.message, named.json.at(-1).error.code, named.done],
    ['bad', 'upstream_error', 1],
  );
  const bare = relay([says('a'), 'data: {"error":{"message":"boom"}}\n\n']);
  assert.deepEqual(bare.json.at(-1).error, {
    message: 'boom',
    type: 'upstream_error',
    param: null,
    code: 'upstream_error',
  });
  const long = relay([`data: {"error":"${'m'.repeat(5000)}"}\n\n`]);
  assert.equal(long.json.at(-1).error.message.length, 1000);
  const key = relay(['data: {"error":{"type":"authentication_error","message":"bad key sk-1"}}\n\n']);
  assert.ok((key.events.at(-1) as Loose).raw === undefined);
});

test('a chunk that is no JSON object ends the stream with an error', () => {
  for (const bad of [
    '{"choices":[',
    'null',
    '[]',
    'oops',
    '"x"',
    '{"choices":[{"index":0,"delta":{"content":"\\q"},"finish_reason":null}]}',
  ]) {
    const seen = relay([says('a'), says('b'), `data: ${bad}\n\n`, says('c'), DONE]);
    assert.equal(seen.json.at(-1).error.code, 'upstream_invalid_response', bad);
    assert.deepEqual([seen.text, seen.done], ['ab', 1]);
  }
});

const deep = (levels: number): string =>
  `data: {"model":"up","choices":[],"x":${'['.repeat(levels)}${']'.repeat(levels)}}\n\n`;

test('depth is bounded: up to the bound a chunk is edited like any other, above it ends the stream', () => {
  assert.equal(relay([deep(511)]).json[0].model, 'gpt-test');
  for (const levels of [512, 600, 5000, 200_000]) {
    assert.equal(relay([deep(levels)]).json[0].error.code, 'upstream_invalid_response');
  }
});

test('what comes after [DONE] is ignored', () => {
  const seen = relay([says('a', 'stop'), DONE, says('b'), 'data: oops\n\n', DONE, ': late\n\n']);
  assert.deepEqual([seen.text, seen.done], ['a', 1]);
  assert.ok(seen.raw.endsWith(DONE));
});

test('the model is shown under another name and all other bytes stay', () => {
  const stream = [
    says('', null),
    says('one'),
    says('two \\ " \u0001é'),
    says('three', null, 1),
    says('four'),
    STOP,
    chunk([], { usage: total(1, 2) }),
    DONE,
  ].join('');
  const seen = relay([stream], { modelShown: 'al"ias', includeUsage: true });
  assert.equal(seen.raw, stream.replaceAll('"model":"gpt-test"', '"model":"al\\"ias"'));
});

test('a stream request that is answered whole becomes a stream', () => {
  const answer = {
    id: 'r',
    object: 'chat.completion',
    created: 1,
    model: 'gpt-test',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'hey',
          tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }],
        },
        finish_reason: 'stop',
      },
    ],
    usage: total(1, 2),
  };
  const seen = relay([JSON.stringify(answer)], { type: 'application/json' });
  assert.deepEqual(
    [seen.text, seen.json.length, seen.done, seen.json[0].object],
    ['hey', 1, 1, 'chat.completion.chunk'],
  );
  assert.equal(assemble(seen.json)[0].arguments, '{}');
  assert.equal(
    relay([JSON.stringify(answer)], { type: 'application/json', includeUsage: true }).json[1].usage.total_tokens,
    3,
  );
});

test('the fast way and the parsed way agree on every fact', () => {
  const content = fc.string({ unit: 'grapheme', maxLength: 8 });
  const member = fc.constantFrom('content', 'reasoning_content');
  const rest = fc.constantFrom({}, { usage: null }, { obfuscation: 'abc' }, { obfuscation: 'x' }, { created: 2 });
  const count = fc.oneof(fc.nat({ max: 12 }), fc.constantFrom(-1, 1.5, null, 1e20));
  const usage = fc.oneof(
    { weight: 2, arbitrary: fc.constant({}) },
    fc
      .tuple(count, count)
      .map(([one, two]) => ({ usage: { prompt_tokens: one, x: { y: 1 }, completion_tokens: two } })),
  );
  const parts = fc.array(fc.tuple(content, member, fc.nat({ max: 1 }), rest, usage), { maxLength: 30 });
  fc.assert(
    fc.property(parts, fc.constantFrom('gpt-test', 'alias'), (list, modelShown) => {
      const stream = list.map(([text, name, index, more, told]) =>
        chunk([{ index, delta: { [name]: text }, finish_reason: null }], { ...more, ...told }),
      );
      const together = decode(stream, { modelShown }).filter(({ kind }) => kind === 'chunk') as Loose[];
      // A decoder that sees one chunk alone has nothing to go by but a parse.
      const alone = stream.flatMap((one) =>
        decode([one], { modelShown }).filter(({ kind }) => kind === 'chunk'),
      ) as Loose[];
      assert.equal(together.length, list.length);
      together.forEach(({ data, facts }, at) => {
        assert.equal(data.toString(), alone[at].data.toString());
        assert.deepEqual(facts, alone[at].facts);
        assert.equal(facts.outputChars, list[at]![0].length);
      });
    }),
    { numRuns: 500 },
  );
});
