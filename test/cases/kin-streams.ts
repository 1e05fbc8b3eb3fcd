import {
  AL,
  ALPHA,
  answer,
  BOOKED_AS_ERROR,
  bytewise,
  chat,
  chunk,
  COMPLETE,
  DONE,
  ENDS,
  ERROR_IN_STREAM,
  event,
  fails,
  is,
  json,
  type Kin,
  kin,
  OK,
  PHA,
  says,
  sse,
  status,
  streamed,
  TWO,
} from './kin.ts';

const WHOLE = [...says('Alpha'), ENDS, COMPLETE];
const TWO_EVENTS = is('client.sse.count_json', 'eq', 2);
const BOOM = '{"error":{"message":"boom","type":"server_error","code":500}}';
const NO_USAGE_SHOWN = is('client.sse[*].usage', 'in', ['__absent__', null]);
const BROKEN = [...says('Al'), ERROR_IN_STREAM, BOOKED_AS_ERROR];
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

/** Framing of events, and ends of streams. */
export const STREAM_KIN: readonly Kin[] = [
  kin('byte order mark', streamed(), sse(`\ufeff${AL}`, PHA, DONE), WHOLE),
  kin('no space after the colon', streamed(), sse(...ALPHA.map((text) => text.replace('data: ', 'data:'))), WHOLE),
  kin('characters cut into bytes', streamed(), sse(...bytewise(chunk({ content: 'ü🌍é' }, 'stop')), DONE), [
    ...says('ü🌍é'),
    ENDS,
    COMPLETE,
  ]),
  kin('CRLF, byte by byte', streamed(), sse(...bytewise(ALPHA.join('').replaceAll('\n', '\r\n'))), [
    ...WHOLE,
    TWO_EVENTS,
  ]),
  kin('CR, byte by byte', streamed(), sse(...bytewise(ALPHA.join('').replaceAll('\n', '\r'))), [...WHOLE, TWO_EVENTS]),
  kin('[DONE] without an empty line', streamed(), sse(AL, PHA, 'data: [DONE]'), WHOLE),
  kin('last event without an empty line', streamed(), sse(AL, PHA.trimEnd()), [...says('Alpha'), COMPLETE]),
  kin('[DONE] with a space', streamed(), sse(AL, PHA, 'data: [DONE] \n\n'), WHOLE),
  kin('words after [DONE]', streamed(), sse(...ALPHA, ': x\n\n', chunk({ content: 'late' })), WHOLE),
  kin('[DONE] twice', streamed(), sse(...ALPHA, DONE), WHOLE),
  kin('empty data', streamed(), sse('data:\n\n', AL, 'data: \n\n', PHA, DONE), [
    ...WHOLE,
    is('client.sse.events_with_empty_data', 'eq', 0),
  ]),
  kin('no JSON in the middle', streamed(), sse(AL, 'data: {oops\n\n', PHA, DONE), [
    OK,
    is('client.sse.events_with_invalid_json', 'eq', 0),
  ]),
  kin(
    'content type in capitals',
    streamed(),
    { status: 200, headers: { 'content-type': 'Text/Event-Stream; charset=utf-8' }, chunks: ALPHA },
    WHOLE,
  ),
  kin('JSON to one who wants a stream', streamed(), json(answer()), [
    ...says('ok'),
    ENDS,
    is('client.headers.content-type', 'startswith', 'text/event-stream'),
  ]),
  kin('a stream to one who wants JSON', chat(), sse(...ALPHA), [status(502, 200)]),
  kin('error in the middle', streamed(), sse(AL, event(BOOM)), [
    ...BROKEN,
    is('client.sse[*].choices[0].finish_reason', 'not_in', ['stop']),
  ]),
  kin(
    'event of the type error',
    streamed(),
    sse(AL, `event: error\n${event('{"message":"boom","type":"server_error"}')}`),
    BROKEN,
  ),
  kin(
    'error of older vLLM',
    streamed(),
    sse(AL, event('{"object":"error","message":"boom","type":"InternalServerError","param":null,"code":500}')),
    BROKEN,
  ),
  kin('error as a text', streamed(), sse(AL, event('{"error":"boom"}')), BROKEN),
  kin('error first', streamed(), sse(event(BOOM)), [...fails(500, 502, 503), BOOKED_AS_ERROR]),
  kin(
    'error first, another backend',
    streamed(),
    { A: sse(event(BOOM)), B: sse(...ALPHA) },
    [...says('Alpha'), ENDS, is('ledger[attempt=A].status', 'eq', 'error')],
    TWO,
  ),
  kin('nothing, another backend', streamed(), { A: sse(), B: sse(...ALPHA) }, [...says('Alpha'), ENDS], TWO),
  kin(
    'comments only, another backend',
    streamed(),
    { A: sse(': hi\n\n', DONE), B: sse(...ALPHA) },
    [...says('Alpha'), ENDS],
    TWO,
  ),
  kin(
    'reset first, another backend',
    streamed(),
    { A: sse(': hi\n\n', { delay_ms: 50 }, { abort: true }), B: sse(...ALPHA) },
    [...says('Alpha'), ENDS],
    TWO,
  ),
  kin(
    'HTML, another backend',
    streamed(),
    { A: { status: 200, headers: { 'content-type': 'text/html' }, chunks: ['<!doctype html>no'] }, B: sse(...ALPHA) },
    [...says('Alpha'), ENDS],
    TWO,
  ),
  kin(
    'HTML to one who wants a stream',
    streamed(),
    { status: 200, headers: { 'content-type': 'text/html' }, chunks: ['<!doctype html>no'] },
    [...fails(502), is('client.raw', 'not_contains', 'doctype')],
  ),
  // Envoy resets the client when the upstream is reset after the head: no event can follow, but the booking can be right.
  kin('reset in the middle', streamed(), sse(AL, { delay_ms: 50 }, { abort: true }), [
    ...says('Al'),
    BOOKED_AS_ERROR,
    is('ledger[0].output_tokens', 'gt', 0),
    is('client.sse.done', 'eq', false),
  ]),
  kin('an end without a reason', streamed(), sse(AL), [
    ...says('Al'),
    is('ledger[0].status', 'in', ['error', 'partial']),
  ]),
  kin(
    '300 small events in a row',
    streamed(),
    sse(...Array.from({ length: 300 }, (_, index) => chunk({ content: `${index},` })), chunk({}, 'stop'), DONE),
    [
      ...says(Array.from({ length: 300 }, (_, index) => `${index},`).join('')),
      ENDS,
      is('client.sse.count_json', 'eq', 301),
    ],
  ),
  kin(
    'an event above the limit',
    streamed(),
    sse(
      AL,
      'data: {"choices":[{"index":0,"delta":{"content":"',
      { repeat: ['B', 9 * 1024 * 1024], split_every: 65_536 },
      '"}}]}\n\n',
    ),
    [OK, ERROR_IN_STREAM],
  ),
  kin(
    'two choices',
    streamed({ n: 2 }),
    sse(
      chunk({ content: 'a' }, null, {}, 1),
      chunk({ content: 'b' }),
      chunk({}, 'stop'),
      chunk({}, 'length', {}, 1),
      DONE,
    ),
    [
      OK,
      ENDS,
      is('client.assembled.choices[0].content', 'eq', 'b'),
      is('client.assembled.choices[1].content', 'eq', 'a'),
      COMPLETE,
    ],
  ),
  kin(
    'words of thought',
    streamed(),
    sse(
      chunk({ role: 'assistant', reasoning_content: 'hm' }),
      chunk({ reasoning: 'hm2' }),
      chunk({ content: 'A' }, 'stop'),
      DONE,
    ),
    [
      ...says('A'),
      is('client.raw', 'contains', 'hm2'),
      is('client.sse[0].choices[0].delta.reasoning_content', 'eq', 'hm'),
      is('ledger[0].output_tokens', 'gt', 1),
    ],
  ),
];

/** Usage in odd places and shapes. */
export const USAGE_KIN: readonly Kin[] = [
  kin('usage beside the last words', streamed(), sse(AL, chunk({ content: 'pha' }, 'stop', { usage }), DONE), [
    ...WHOLE,
    NO_USAGE_SHOWN,
    is('ledger[0].output_tokens', 'eq', 2),
  ]),
  kin(
    'usage beside the last words, asked for',
    streamed({ stream_options: { include_usage: true } }),
    sse(AL, chunk({ content: 'pha' }, 'stop', { usage }), DONE),
    [...WHOLE, is('client.sse.usage_chunks', 'eq', 1), is('ledger[0].output_tokens', 'eq', 2)],
  ),
  kin('no usage in a stream', streamed(), sse(...ALPHA), [
    OK,
    is('ledger[0].estimated', 'eq', true),
    is('ledger[0].output_tokens', 'gt', 0),
  ]),
  kin('no usage', chat(), json(answer({ usage: undefined })), [
    OK,
    is('ledger[0].estimated', 'eq', true),
    is('ledger[0].output_tokens', 'gt', 0),
  ]),
  kin(
    'zero usage for words',
    chat(),
    json(answer({ usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } })),
    [OK, is('ledger[0].usage_flagged', 'eq', true), is('ledger[0].output_tokens', 'gt', 0)],
  ),
  kin(
    'half a token',
    chat(),
    json(answer({ usage: { prompt_tokens: 5, completion_tokens: 1.5, total_tokens: 6.5 } })),
    [OK, is('ledger[0].usage_flagged', 'eq', true)],
  ),
  kin('more tokens than numbers', chat(), json(answer().replace('"prompt_tokens":5', '"prompt_tokens":1e300')), [
    OK,
    is('ledger[0].usage_flagged', 'eq', true),
    is('ledger[0].cost', 'not_nan'),
  ]),
  kin('usage as a list', chat(), json(answer({ usage: [] })), [OK, is('ledger[0].usage_flagged', 'eq', true)]),
];
