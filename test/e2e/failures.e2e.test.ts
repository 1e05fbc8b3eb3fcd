import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LedgerEvent } from '../../src/core/ledger-event.ts';
import type { UpstreamScript } from '../support/upstream-script.ts';
import { chatClient, question, type Reply, said } from './chat-client.ts';
import { chunk, errorAnswer, event, PROMPT_TOKENS, streamAnswer, textOf, wholeAnswer } from './openai-answers.ts';
import { inTime } from '../support/in-time.ts';
import { useGateway } from '../support/use-gateway.ts';

/**
 * What a client sees. `served`: a whole good answer. `refused`: an error in place of one. `told`: an error in the stream.
 * `broken`: the proxy resets what it has begun when the backend's connection breaks; no client takes that for an end.
 */
type Outcome =
  | { readonly kind: 'served'; readonly by?: 'a' | 'b' }
  | { readonly kind: 'refused'; readonly status: number; readonly code: string | null; readonly retryAfter?: string }
  | { readonly kind: 'told'; readonly code: string; readonly words: number }
  | { readonly kind: 'broken'; readonly words: number };

interface Row {
  readonly name: string;
  /** How the first backend answers each try; `down` = nobody listens. */
  readonly answer: UpstreamScript | 'down';
  /** One backend alone. */
  readonly solo: Outcome;
  /** A second candidate stands by. */
  readonly pair: Outcome;
  /** Tries that the one backend gets alone. */
  readonly soloTries: number;
  /** What a try that was thrown away says that it used: the gateway's cost. */
  readonly thrown?: { readonly prompt: number; readonly completion: number };
  /** The backend took the request and never answered: its prompt is paid for. `new`: unless the connection was new, and broke at once. */
  readonly isUnanswered?: true | 'new';
  /** The backend took the last try, too, and nothing came of it. Default: as `isUnanswered`. */
  readonly isLost?: boolean;
}

const MAX_TRIES = 3;
const IDLE_MS = 400;
/** Before an answer has begun the proxy tells silence, a second after we would. */
const PROXY_SLACK_MS = 1500;
const served = (by: 'a' | 'b'): Outcome => ({ kind: 'served', by });
const refused = (status: number, code: string | null, retryAfter?: string): Outcome => ({
  kind: 'refused',
  status,
  code,
  ...(retryAfter === undefined ? {} : { retryAfter }),
});
const broken = (words: number): Outcome => ({ kind: 'broken', words });
const told = (words: number, code = 'upstream_stream_interrupted'): Outcome => ({ kind: 'told', code, words });

const JSON_HEAD = { 'content-type': 'application/json' };
const STREAM_HEAD = { 'content-type': 'text/event-stream' };
const HTML: UpstreamScript = {
  status: 502,
  headers: { 'content-type': 'text/html' },
  chunks: ['<!doctype html><title>502 Bad Gateway</title>'],
};
const WHOLE = JSON.stringify({ id: 'x', object: 'chat.completion', choices: [], usage: null });

/** Failures that come before an answer: plain requests and streams alike. */
const EITHER: readonly Row[] = [
  {
    name: 'connection refused',
    answer: 'down',
    solo: refused(503, 'upstream_unreachable', '1'),
    pair: served('b'),
    soloTries: 0,
  },
  {
    name: 'reset before the head',
    answer: { close_after_request: 'rst' },
    solo: refused(503, 'upstream_unreachable', '1'),
    pair: served('b'),
    soloTries: 1,
    isUnanswered: 'new',
  },
  {
    name: 'closed before the head',
    answer: { close_after_request: 'fin' },
    solo: refused(503, 'upstream_unreachable', '1'),
    pair: served('b'),
    soloTries: 1,
    isUnanswered: 'new',
  },
  {
    name: 'silence before the head',
    answer: { hang: true },
    solo: refused(504, 'upstream_timeout'),
    pair: served('b'),
    soloTries: 1,
    isUnanswered: true,
  },
  { name: '429', answer: errorAnswer(429), solo: refused(429, null), pair: served('b'), soloTries: MAX_TRIES },
  {
    name: '429 with Retry-After',
    answer: errorAnswer(429, { 'retry-after': '7' }),
    solo: refused(429, null, '7'),
    pair: served('b'),
    soloTries: MAX_TRIES,
  },
  { name: '500', answer: errorAnswer(500), solo: refused(500, null), pair: served('b'), soloTries: MAX_TRIES },
  { name: '503', answer: errorAnswer(503), solo: refused(503, null), pair: served('b'), soloTries: MAX_TRIES },
  { name: '529', answer: errorAnswer(529), solo: refused(529, null), pair: served('b'), soloTries: MAX_TRIES },
  {
    name: '401 of our own key',
    answer: errorAnswer(401),
    solo: refused(502, 'upstream_auth_failed'),
    pair: served('b'),
    soloTries: 1,
  },
  { name: '400', answer: errorAnswer(400), solo: refused(400, null), pair: refused(400, null), soloTries: 1 },
  { name: 'HTML error', answer: HTML, solo: refused(502, 'upstream_error'), pair: served('b'), soloTries: MAX_TRIES },
  {
    name: '200 with HTML',
    answer: { ...HTML, status: 200 },
    solo: refused(502, 'upstream_invalid_response'),
    pair: served('b'),
    soloTries: 1,
  },
  {
    name: '200 and empty',
    answer: { status: 200, headers: JSON_HEAD, chunks: [] },
    solo: refused(502, 'upstream_invalid_response'),
    pair: served('b'),
    soloTries: 1,
  },
];

/** The head of a whole answer goes to the client's side at once: what is wrong with its body is an error, not a second try. */
const PLAIN: readonly Row[] = [
  {
    name: '200 with garbage',
    answer: { status: 200, headers: JSON_HEAD, chunks: [{ base64: 'e//+ACI=' }] },
    solo: refused(502, 'upstream_invalid_response'),
    pair: refused(502, 'upstream_invalid_response'),
    soloTries: 1,
  },
  {
    name: '200 with an error in it',
    answer: {
      status: 200,
      headers: JSON_HEAD,
      chunks: [JSON.stringify({ error: { message: 'no', type: 'server_error', param: null, code: null } })],
    },
    solo: refused(502, null),
    pair: refused(502, null),
    soloTries: 1,
  },
  {
    name: 'reset within the body',
    answer: { status: 200, headers: JSON_HEAD, chunks: [WHOLE.slice(0, 20), { abort: true }] },
    solo: refused(503, 'upstream_unreachable', '1'),
    pair: refused(503, 'upstream_unreachable', '1'),
    soloTries: 1,
    isLost: true,
  },
  {
    name: 'content-length too long',
    answer: { status: 200, headers: { ...JSON_HEAD, 'content-length': '5000' }, chunks: [WHOLE, { close: true }] },
    solo: refused(503, 'upstream_unreachable', '1'),
    pair: refused(503, 'upstream_unreachable', '1'),
    soloTries: 1,
    isLost: true,
  },
  {
    name: 'content-length too short',
    answer: { status: 200, headers: { ...JSON_HEAD, 'content-length': '20' }, chunks: [WHOLE, { close: true }] },
    solo: refused(502, 'upstream_invalid_response'),
    pair: refused(502, 'upstream_invalid_response'),
    soloTries: 1,
  },
  {
    name: 'silence within the body',
    answer: { status: 200, headers: JSON_HEAD, chunks: [WHOLE.slice(0, 20), { hang: true }], framing: 'chunked' },
    solo: refused(504, 'upstream_timeout'),
    pair: refused(504, 'upstream_timeout'),
    soloTries: 1,
    isLost: true,
  },
];

const STREAM: readonly Row[] = [
  {
    name: '200 with garbage',
    answer: { status: 200, headers: JSON_HEAD, chunks: [{ base64: 'e//+ACI=' }] },
    solo: refused(502, 'upstream_invalid_response'),
    pair: served('b'),
    soloTries: 1,
  },
  {
    name: 'first event is garbage',
    answer: { status: 200, headers: STREAM_HEAD, chunks: ['data: {"choices": [\n\n', 'data: [DONE]\n\n'] },
    solo: refused(502, 'upstream_invalid_response'),
    pair: served('b'),
    soloTries: 1,
  },
  {
    name: 'first event is an error',
    answer: {
      status: 200,
      headers: STREAM_HEAD,
      chunks: [event({ error: { message: 'no', type: 'overloaded_error', param: null, code: null } })],
    },
    solo: refused(503, null),
    pair: served('b'),
    soloTries: 1,
  },
  {
    name: '[DONE] alone',
    answer: { status: 200, headers: STREAM_HEAD, chunks: ['data: [DONE]\n\n'] },
    solo: { kind: 'served' },
    pair: served('b'),
    soloTries: 1,
  },
  {
    name: 'silence after the head',
    answer: { status: 200, headers: STREAM_HEAD, chunks: [{ hang: true }] },
    solo: refused(504, 'upstream_timeout'),
    pair: served('b'),
    soloTries: 1,
    isUnanswered: true,
  },
  {
    name: 'reset after the head',
    answer: { status: 200, headers: STREAM_HEAD, chunks: [{ abort: true }] },
    solo: refused(503, 'upstream_unreachable', '1'),
    pair: served('b'),
    soloTries: 1,
    isUnanswered: true,
  },
  {
    // Nothing that means something was said: another candidate may still say it.
    name: 'a role, then an error',
    answer: streamAnswer({
      words: 0,
      thenInstead: [event({ error: { message: 'no', type: 'server_error', param: null, code: 'boom' } })],
    }),
    solo: told(0, 'boom'),
    pair: served('b'),
    soloTries: 1,
  },
  {
    name: 'usage of a thought, then an error',
    answer: streamAnswer({
      words: 0,
      thenInstead: [
        event({ choices: [], usage: { prompt_tokens: 11, completion_tokens: 6, total_tokens: 17 } }),
        event({ error: { message: 'no', type: 'server_error', param: null, code: 'boom' } }),
      ],
    }),
    solo: told(0, 'boom'),
    pair: served('b'),
    soloTries: 1,
    thrown: { prompt: 11, completion: 6 },
  },
  {
    name: 'reset after 3 words',
    answer: streamAnswer({ words: 3, thenInstead: [{ abort: true }] }),
    solo: broken(3),
    pair: broken(3),
    soloTries: 1,
  },
  {
    name: 'closed after 3 words',
    answer: streamAnswer({ words: 3, thenInstead: [{ close: true }] }),
    solo: broken(3),
    pair: broken(3),
    soloTries: 1,
  },
  {
    name: 'ended after 3 words, with no finish',
    answer: streamAnswer({ words: 3, thenInstead: [] }),
    solo: told(3),
    pair: told(3),
    soloTries: 1,
  },
  {
    name: 'silence after 3 words',
    answer: streamAnswer({ words: 3, thenInstead: [{ hang: true }] }),
    solo: told(3, 'upstream_timeout'),
    pair: told(3, 'upstream_timeout'),
    soloTries: 1,
  },
  {
    name: 'an error after 3 words',
    answer: streamAnswer({
      words: 3,
      thenInstead: [event({ error: { message: 'no', type: 'server_error', param: null, code: 'boom' } })],
    }),
    solo: told(3, 'boom'),
    pair: told(3, 'boom'),
    soloTries: 1,
  },
  {
    name: 'garbage after 3 words',
    answer: streamAnswer({ words: 3, thenInstead: ['data: {{{\n\n', chunk({}, 'stop'), 'data: [DONE]\n\n'] }),
    solo: told(3, 'upstream_invalid_response'),
    pair: told(3, 'upstream_invalid_response'),
    soloTries: 1,
  },
  { name: 'no [DONE]', answer: streamAnswer({ done: false }), solo: served('a'), pair: served('a'), soloTries: 1 },
  { name: 'no usage', answer: streamAnswer({ usage: false }), solo: served('a'), pair: served('a'), soloTries: 1 },
];

const {
  gateway,
  upstreams: [a, b],
} = await useGateway({
  config: ([a, b]) => ({
    backends: [
      { name: 'a', endpoints: [{ url: `${a.url}/v1` }] },
      { name: 'b', endpoints: [{ url: `${b.url}/v1` }] },
    ],
    models: [
      { name: 'solo', deployments: [{ backend: 'a', price: { prompt_per_mtok: 1, completion_per_mtok: 2 } }] },
      {
        name: 'pair',
        deployments: ['a', 'b'].map((backend) => ({
          backend,
          price: { prompt_per_mtok: 1, completion_per_mtok: 2 },
        })),
      },
    ],
    timeouts: { idle: `${IDLE_MS}ms`, request: '8s', connect: '500ms' },
    retry: { retries: MAX_TRIES - 1, base: '5ms', max: '20ms', retry_after_cap: '100ms' },
  }),
});

for (const stream of [false, true]) {
  describe(stream ? 'a stream' : 'a plain request', () => {
    for (const row of [...EITHER, ...(stream ? STREAM : PLAIN)]) {
      for (const model of ['solo', 'pair'] as const) {
        test(`${row.name}, ${model === 'solo' ? 'alone' : 'with a second candidate'}`, () =>
          inTime(() => run(row, model, stream)));
      }
    }
  });
}

/** By how many milliseconds its client waited too long for an answer that was over. */
async function run(row: Row, model: 'solo' | 'pair', stream: boolean): Promise<number> {
  const tenant = `t-${Math.random().toString(36).slice(2)}`;
  for (const mock of [a, b]) mock.clear();
  if (row.answer === 'down') await a.refuse();
  else a.respondWith(row.answer);
  b.respondWith(stream ? streamAnswer() : wholeAnswer());
  try {
    const send = chatClient(gateway, await gateway.token({ tenant }));
    const began = performance.now();
    const reply = await send(question(model, { stream }));
    const expected = row[model];
    const patience = row.name.startsWith('silence') ? IDLE_MS + PROXY_SLACK_MS : 1000;
    const late = performance.now() - began - patience;
    assertSeen(reply, expected, stream);
    assertTries(row, model, expected);
    await assertBooked(tenant, reply, expected, row);
    return late;
  } finally {
    await a.listen();
  }
}

function assertSeen(reply: Reply, expected: Outcome, stream: boolean): void {
  assert.equal(reply.broken, expected.kind === 'broken', `the connection broke: ${reply.text}`);
  const error = reply.json?.['error'] as Record<string, unknown> | undefined;
  if (expected.kind === 'refused') {
    assert.equal(reply.status, expected.status, reply.text);
    assert.equal(reply.headers.get('content-type'), 'application/json');
    assertErrorShape(error);
    assert.equal(error?.['code'], expected.code, reply.text);
    assert.equal(reply.headers.get('x-error-source'), 'model_service');
    assert.equal(reply.headers.get('x-request-id'), reply.requestId);
    if (expected.retryAfter !== undefined) assert.equal(reply.headers.get('retry-after'), expected.retryAfter);
    return;
  }
  assert.equal(reply.status, 200, reply.text);
  if (expected.kind === 'told') {
    assertErrorShape(error);
    assert.equal(error?.['code'], expected.code, reply.text);
    assert.equal(said(reply.events), textOf(expected.words));
    assert.ok(!reply.text.includes('"finish_reason":"stop"'), 'an unfinished answer looks finished');
    return;
  }
  assert.equal(error, undefined, reply.text);
  if (expected.kind === 'broken') {
    assert.equal(said(reply.events), textOf(expected.words));
    assert.ok(!reply.text.includes('[DONE]') && !reply.text.includes('"finish_reason":"stop"'));
    return;
  }
  if (expected.by === undefined) return;
  assert.equal(reply.headers.get('x-tokenlat-backend'), expected.by);
  assert.equal(reply.headers.get('x-tokenlat-attempts'), expected.by === 'a' ? '1' : '2');
  const choices = reply.json?.['choices'] as { message?: { content?: string } }[];
  assert.equal(stream ? said(reply.events) : choices[0]?.message?.content, textOf(5));
  if (stream) assert.equal(reply.events.at(-1), '[DONE]');
}

function assertErrorShape(error: Record<string, unknown> | undefined): void {
  assert.ok(error !== undefined, 'no error object');
  assert.equal(typeof error['message'], 'string');
  assert.equal(typeof error['type'], 'string');
  assert.ok('param' in error && 'code' in error);
}

function assertTries(row: Row, model: 'solo' | 'pair', expected: Outcome): void {
  assert.ok(a.requests.length + b.requests.length <= MAX_TRIES, 'more tries than allowed');
  if (model === 'solo') assert.equal(a.requests.length, row.soloTries);
  const byB = expected.kind === 'served' && expected.by === 'b';
  assert.equal(b.requests.length, byB ? 1 : 0, 'tries at the second candidate');
}

async function assertBooked(tenant: string, reply: Reply, expected: Outcome, row: Row): Promise<void> {
  // An answer of the proxy's own in place of one that had begun is past our headers.
  const shown = reply.headers.get('x-tokenlat-attempts');
  const tries = row.answer === 'down' ? Number(shown) : a.requests.length + b.requests.length;
  if (shown !== null) assert.equal(Number(shown), tries, 'x-tokenlat-attempts');
  const isLost = expected.kind === 'refused' && (row.isLost ?? row.isUnanswered !== undefined);
  const booked = tries + (isLost ? 1 : 0);
  const events = (await gateway.ledger(tenant, booked)).filter((one) => one.requestId === reply.requestId);
  assert.equal(
    events.length,
    booked,
    'one cost event a try, and one of the request where it got nothing of its last one',
  );
  assert.equal(new Set(events.map(({ operation, attempt }) => `${operation} ${attempt}`)).size, booked);
  const [own, ...more] = events.filter((one) => one.chargedTo === 'tenant') as [LedgerEvent, ...LedgerEvent[]];
  assert.equal(more.length, 0, 'the client is charged once');
  assert.equal(own.attempt, isLost ? 0 : tries, 'the client is charged for the last try, where it gave anything');
  const { prompt, completion } = row.thrown ?? { prompt: 0, completion: 0 };
  const thrown = events.filter((one) => one.chargedTo === 'gateway');
  assert.deepEqual(
    thrown.map(({ attempt }) => attempt),
    Array.from({ length: booked - 1 }, (_, at) => at + 1),
    'each try that was thrown away is one event',
  );
  for (const one of thrown) {
    assert.equal(one.status, 'error');
    // The proxy tells of the last try whether it was sent.
    const isLast = isLost && one.attempt === tries;
    if (isLast || row.isUnanswered === true || (row.isUnanswered === 'new' && one.usageFlag !== null)) {
      assert.deepEqual([one.usageFlag, one.estimated, one.completionTokens], ['unanswered', true, 0]);
      assert.ok(one.cost > 0 && one.cost === one.promptTokens);
      continue;
    }
    assert.equal(one.completionTokens, completion, 'tokens of a try are those that it told of');
    assert.equal(one.cost, prompt + 2 * completion, 'at its price');
  }
  const { attempts } = await gateway.trace(reply.requestId);
  assert.deepEqual(
    (attempts as readonly { readonly attempt: number }[]).map(({ attempt }) => attempt),
    Array.from({ length: tries }, (_, at) => at + 1),
    'each try is one line of the record',
  );
  if (expected.kind === 'refused') {
    assert.equal(own.status, 'error');
    assert.equal(own.cost, 0, 'an error is free');
  } else if (expected.kind !== 'served') {
    if (expected.kind === 'told') assert.equal(own.status, 'error');
    else assert.notEqual(own.status, 'complete');
    // What the upstream told is charged too; without, an error before the first word is free, however it came.
    const tokens = Math.max(expected.words, completion);
    assert.equal(own.completionTokens, tokens, 'what was sent is charged');
    assert.equal(own.promptTokens > 0, tokens > 0);
  } else if (expected.by !== undefined) {
    assert.equal(own.status, 'complete');
    assert.equal(own.backend, expected.by);
    assert.equal(own.completionTokens, 5);
    if (!own.estimated) assert.equal(own.promptTokens, PROMPT_TOKENS);
    assert.ok(own.cost > 0);
  }
}
