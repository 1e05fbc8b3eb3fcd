import type { UpstreamScript } from '../support/upstream-script.ts';
import {
  BOOKED_AS_ERROR,
  chat,
  COMPLETE,
  ENDS,
  fails,
  is,
  json,
  type Kin,
  kin,
  NOT_SENT,
  OK,
  answer,
  says,
  sse,
} from './kin.ts';
import type { CaseRequest, ConfigHint } from './report.ts';

const CLAUDE: ConfigHint = {
  backends: [
    {
      name: 'A',
      kind: 'anthropic',
      serves: ['claude-test'],
      key: 'sk-provider',
      price_per_m: { in: 3, cached_in: 0.3, out: 15 },
    },
  ],
};
/** Another protocol takes over. */
const MIXED: ConfigHint = {
  backends: [
    { name: 'A', kind: 'anthropic', serves: [], upstream_model: 'claude-up' },
    { name: 'B', kind: 'openai', serves: [], upstream_model: 'gpt-up' },
  ],
  route: { 'claude-test': { priority: ['A', 'B'] } },
};

function ask(extra: object = {}): CaseRequest {
  return chat({ model: 'claude-test', ...extra });
}

function event(type: string, more: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
}

const START = event('message_start', {
  message: { content: [], usage: { input_tokens: 20, cache_read_input_tokens: 100, output_tokens: 1 } },
});
const END = event('message_stop');

function said(text: string): string {
  return (
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }) +
    event('content_block_stop', { index: 0 })
  );
}

function finish(reason: string): string {
  return event('message_delta', { delta: { stop_reason: reason }, usage: { input_tokens: 0, output_tokens: 30 } });
}

const error = (type: string): object => ({ type: 'error', error: { type, message: 'Sorry' } });

function failure(type: string, status: number): UpstreamScript {
  return json(JSON.stringify(error(type)), status);
}

function message(content: readonly object[], usage: object): UpstreamScript {
  return json(JSON.stringify({ type: 'message', role: 'assistant', content, stop_reason: 'end_turn', usage }));
}

/** Faults of translation to another protocol and back. */
export const ANTHROPIC_KIN: readonly Kin[] = [
  kin(
    'cached tokens of a stream that a zero must not undo',
    ask({ stream: true, stream_options: { include_usage: true } }),
    sse(START, said('Hi'), finish('end_turn'), END),
    [
      ...says('Hi'),
      ENDS,
      COMPLETE,
      is('client.sse.usage_chunks', 'eq', 1),
      is('ledger[0].input_tokens', 'eq', 120),
      is('ledger[0].cached_input_tokens', 'eq', 100),
      is('ledger[0].output_tokens', 'eq', 30),
      is('ledger[0].cost', 'approx', 0.00054),
    ],
    CLAUDE,
  ),
  kin(
    'usage that was not asked for',
    ask({ stream: true }),
    sse(START, said('Hi'), finish('end_turn'), END),
    [...says('Hi'), ENDS, is('client.sse.usage_chunks', 'eq', 0), is('ledger[0].output_tokens', 'eq', 30)],
    CLAUDE,
  ),
  kin(
    'tokens written to the cache are part of the prompt',
    ask(),
    message([{ type: 'text', text: 'Hi' }], { input_tokens: 5, cache_creation_input_tokens: 7, output_tokens: 2 }),
    [OK, is('client.body.usage.prompt_tokens', 'eq', 12), is('ledger[0].input_tokens', 'eq', 12)],
    CLAUDE,
  ),
  kin(
    'a stream without an end',
    ask({ stream: true }),
    sse(START, said('Half')),
    [...says('Half'), is('client.sse[last_json].error.message', 'is_string'), BOOKED_AS_ERROR],
    CLAUDE,
  ),
  kin(
    'pings before and between',
    ask({ stream: true }),
    sse(event('ping'), START, event('ping'), { delay_ms: 20 }, said('Hi'), event('ping'), finish('end_turn'), END),
    [...says('Hi'), ENDS, COMPLETE],
    CLAUDE,
  ),
  kin(
    'a temperature that is too high there',
    ask({ temperature: 1.5 }),
    message([], {}),
    [...fails(400), is('client.body.error.param', 'eq', 'temperature'), NOT_SENT],
    CLAUDE,
  ),
  kin(
    'two choices where there is one',
    ask({ n: 2 }),
    message([], {}),
    [...fails(400), is('client.body.error.param', 'eq', 'n'), NOT_SENT],
    CLAUDE,
  ),
  kin(
    'a whole answer that says why it failed',
    ask(),
    failure('invalid_request_error', 400),
    [...fails(400), is('client.body.error.type', 'eq', 'invalid_request_error'), BOOKED_AS_ERROR],
    CLAUDE,
  ),
  kin(
    'overload: another protocol takes over',
    ask(),
    { A: failure('overloaded_error', 529), B: json(answer()) },
    [
      OK,
      is('upstream.backends', 'deep_eq', ['A', 'B']),
      is('upstream[1].headers.anthropic-version', 'absent'),
      COMPLETE,
    ],
    MIXED,
  ),
  kin(
    'overload in a stream before its first word: another protocol takes over',
    ask({ stream: true }),
    {
      A: sse(START, event('error', error('overloaded_error'))),
      B: sse(
        'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}\n\n',
        'data: [DONE]\n\n',
      ),
    },
    [...says('Hi'), ENDS, is('upstream.backends', 'deep_eq', ['A', 'B']), is('upstream[1].body.model', 'eq', 'gpt-up')],
    MIXED,
  ),
];
