import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../src/app/wait-until.ts';
import type { UpstreamScript } from '../support/upstream-script.ts';
import { chatClient, question, type Reply, said } from './chat-client.ts';
import {
  chunk,
  errorAnswer,
  event,
  PROMPT_TOKENS,
  streamAnswer,
  textOf,
  usageOf,
  wholeAnswer,
} from './openai-answers.ts';
import { useGateway } from '../support/use-gateway.ts';

/**
 * The sixteen scenarios of Failover Bench, played against the gateway. Times of tens of seconds are scaled: a backend's
 * silence counts after `IDLE_MS`. Every healthy answer is the same sixty words, so that a part of one cannot pass for it.
 */
const WORDS = 60;
const IDLE_MS = 600;
/** What the proxy's own patience is longer than ours, and the time to play in. */
const SLACK_MS = 1500;

/** `pass`: as the bench wants it. `safe`: no answer, and nothing that looks like one. `partial`: less than it wants. */
type Verdict = 'pass' | 'partial' | 'safe' | 'fail';
interface Judged {
  readonly verdict: Verdict;
  readonly note: string;
}

const table: (Judged & { readonly id: string; readonly title: string })[] = [];

const cheap = { prompt_per_mtok: 1, completion_per_mtok: 1 };
const dear = { prompt_per_mtok: 1000, completion_per_mtok: 1000 };
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
      { name: 'solo', deployments: [{ backend: 'a', price: dear }] },
      { name: 'fancy', deployments: [{ backend: 'a', price: dear }], fallback: ['plain'] },
      { name: 'plain', deployments: [{ backend: 'b', price: cheap }] },
    ],
    timeouts: { idle: `${IDLE_MS}ms`, request: '20s' },
  }),
  atEnd: printTable,
});
const send = chatClient(gateway, await gateway.token());
beforeEach(() => {
  a.clear();
  b.clear();
  b.respondWith(healthy);
});

const healthy = ({ json }: { readonly json: unknown }): UpstreamScript =>
  (json as { stream?: boolean }).stream === true ? streamAnswer({ words: WORDS }) : wholeAnswer(WORDS);

scenario('S01', '429 with Retry-After: 2, once', async () => {
  a.queue(errorAnswer(429, { 'retry-after': '2' }));
  a.respondWith(healthy);
  const over = await ask('fancy');
  assert.ok(isWhole(over), over.text);
  a.clear();
  a.queue(errorAnswer(429, { 'retry-after': '2' }));
  a.respondWith(healthy);
  const alone = await ask('solo');
  const gap = Number(a.requests[1]?.receivedAt) - Number(a.requests[0]?.receivedAt);
  return isWhole(alone) && gap >= 1800
    ? pass(`fails over; alone it waits ${Math.round(gap / 100) / 10} s`)
    : partial(`gap ${gap} ms, status ${alone.status}`);
});

scenario('S02', '429 always', async () => {
  a.respondWith(errorAnswer(429));
  const reply = await ask('solo');
  return reply.status === 429 && a.requests.length <= 6
    ? pass(`429 after ${a.requests.length} tries`)
    : fail(`${reply.status}, ${a.requests.length} tries`);
});

scenario('S03', '500 once', async () => {
  a.queue(errorAnswer(500));
  a.respondWith(healthy);
  const reply = await ask('solo');
  return isWhole(reply) && a.requests.length === 2
    ? pass('one retry, same provider')
    : fail(`${reply.status}, ${a.requests.length} tries`);
});

scenario('S04', '503 always', async () => {
  a.respondWith(errorAnswer(503));
  const replies = [await ask('fancy'), await ask('fancy', true)];
  return replies.every(isWhole)
    ? pass(`fails over after ${a.requests.length / 2} try`)
    : fail(replies.map((reply) => reply.status).join());
});

scenario('S05', 'reset before the head', async () => {
  a.respondWith({ close_after_request: 'rst' });
  const replies = [await ask('fancy'), await ask('fancy', true)];
  return replies.every(isWhole) ? pass('fails over') : fail(replies.map((reply) => reply.status).join());
});

scenario('S06', 'silence', async () => {
  a.respondWith({ hang: true });
  const began = performance.now();
  const replies = await Promise.all([ask('fancy'), ask('fancy', true)]);
  const took = performance.now() - began;
  const again = a.requests.length > 2;
  if (!replies.every(isWhole)) return fail(replies.map((reply) => reply.status).join());
  return took < IDLE_MS + SLACK_MS && !again
    ? pass('fails over after timeouts.idle, the silent one is not asked again')
    : partial(`${Math.round(took)} ms`);
});

scenario('S07', 'a late first token', async () => {
  a.respondWith(late(IDLE_MS / 2));
  const patient = await ask('fancy', true);
  assert.equal(b.requests.length, 0);
  a.respondWith(late(IDLE_MS * 4));
  const impatient = await ask('fancy', true);
  return isWhole(patient) && isWhole(impatient)
    ? pass('within timeouts.idle it waits, past it fails over')
    : fail(`${patient.status} ${impatient.status}`);
});

scenario('S08', `cut after 40 of ${WORDS} words`, async () => {
  a.respondWith(streamAnswer({ words: 40, thenInstead: [{ abort: true }] }));
  return brokenOff(await ask('fancy', true));
});

scenario('S09', 'a stall within the stream', async () => {
  a.queue(streamAnswer({ words: 40, thenInstead: [{ hang: true }] }));
  const began = performance.now();
  const reply = await ask('fancy', true);
  const took = performance.now() - began;
  a.respondWith(healthy);
  assert.ok(isWhole(await ask('fancy', true)), 'dead after a stall');
  return took < IDLE_MS + SLACK_MS ? brokenOff(reply) : fail(`${Math.round(took)} ms`);
});

scenario('S10', 'one malformed chunk', async () => {
  a.respondWith(
    streamAnswer({
      words: 30,
      thenInstead: [
        'data: {"choices":[{"delta":\n\n',
        chunk({ content: ' more' }),
        chunk({}, 'stop'),
        'data: [DONE]\n\n',
      ],
    }),
  );
  return brokenOff(await ask('fancy', true));
});

scenario('S11', 'no [DONE]', async () => {
  const end = [chunk({}, 'stop'), event({ choices: [], usage: usageOf(WORDS) })];
  const results: string[] = [];
  for (const [name, steps] of [
    ['closed', end],
    ['left open', [...end, { hang: true } as const]],
  ] as const) {
    a.respondWith(streamAnswer({ words: WORDS, thenInstead: steps }));
    const began = performance.now();
    const reply = await ask('solo', true, { stream_options: { include_usage: true } });
    const took = performance.now() - began;
    const usage = reply.json?.['usage'] as { completion_tokens?: number } | undefined;
    const good = isWhole(reply) && usage?.completion_tokens === WORDS && took < 8000;
    results.push(`${name}: ${good ? `ends after ${Math.round(took)} ms, usage told` : reply.text.slice(-200)}`);
    if (!good) return fail(results.join('; '));
  }
  return pass(results.join('; '));
});

scenario('S12', 'context_length_exceeded', async () => {
  const error = {
    message: 'too long',
    type: 'invalid_request_error',
    param: 'messages',
    code: 'context_length_exceeded',
  };
  a.respondWith({ status: 400, headers: { 'content-type': 'application/json' }, chunks: [JSON.stringify({ error })] });
  const reply = await ask('fancy');
  const code = (reply.json?.['error'] as { code?: string } | undefined)?.code;
  return reply.status === 400 && code === error.code && a.requests.length === 1
    ? pass("one try, the provider's reason passed on")
    : fail(`${reply.status} ${code}, ${a.requests.length} tries`);
});

scenario('S13', 'content filter', async () => {
  const error = { message: 'filtered', type: 'invalid_request_error', param: null, code: 'content_filter' };
  a.respondWith({ status: 400, headers: { 'content-type': 'application/json' }, chunks: [JSON.stringify({ error })] });
  const refused = await ask('fancy');
  const code = (refused.json?.['error'] as { code?: string } | undefined)?.code;
  assert.equal(a.requests.length, 1);
  a.respondWith(streamAnswer({ words: 3, thenInstead: [chunk({}, 'content_filter'), 'data: [DONE]\n\n'] }));
  const stopped = await ask('fancy', true);
  const kept = stopped.text.includes('"finish_reason":"content_filter"') && b.requests.length === 0;
  return code === error.code && kept
    ? pass("one try, the provider's reason passed on")
    : fail(`${refused.status} ${code}`);
});

scenario('S14', 'cut, and a fallback that rejects prefill', async () => {
  a.respondWith(streamAnswer({ words: 40, thenInstead: [{ abort: true }] }));
  b.respondWith(errorAnswer(400));
  const reply = await ask('fancy', true);
  assert.ok(!reply.text.includes('upstream says 400'), 'the real error is masked');
  assert.equal(b.requests.length, 0);
  return brokenOff(reply);
});

scenario('S15', 'down, then healthy again', async () => {
  a.respondWith(healthy);
  await a.refuse();
  const during: Reply[] = [];
  for (let turn = 0; turn < 12; turn += 1) during.push(await ask('fancy', turn % 2 === 1));
  await a.listen();
  const began = performance.now();
  const back = await waitUntil(async () => (await ask('fancy')).headers.get('x-tokenlat-backend') === 'a', {
    timeoutMs: 3000,
    everyMs: 50,
  });
  const took = Math.round(performance.now() - began);
  return during.every(isWhole) && back
    ? pass(`served all the time, back after ${took} ms`)
    : fail(`${during.filter(isWhole).length} of ${during.length} served`);
});

scenario('S16', 'who answered, and what it cost', async () => {
  a.respondWith(errorAnswer(500));
  const reply = await ask('fancy');
  const events = await eventsOf(reply, 2);
  const own = events.find((one) => one.chargedTo === 'tenant');
  const thrown = events.find((one) => one.chargedTo === 'gateway');
  const named = reply.headers.get('x-tokenlat-model') === 'plain' && reply.headers.get('x-tokenlat-backend') === 'b';
  const billed = own?.model === 'plain' && own.cost === PROMPT_TOKENS + WORDS && own.completionTokens === WORDS;
  const unbilled = thrown?.model === 'fancy' && thrown.cost === 0;
  return isWhole(reply) && named && billed && unbilled
    ? pass('model, backend and price of the one that answered')
    : fail(JSON.stringify(events));
});

function scenario(id: string, title: string, play: () => Promise<Judged>): void {
  test(`${id} ${title}`, { timeout: 20_000 }, async () => {
    const judged = await play();
    table.push({ id, title, ...judged });
    assert.notEqual(judged.verdict, 'fail', judged.note);
  });
}

const pass = (note: string): Judged => ({ verdict: 'pass', note });
const partial = (note: string): Judged => ({ verdict: 'partial', note });
const fail = (note: string): Judged => ({ verdict: 'fail', note });

/** The sixty words, the first of them late. */
function late(ms: number): UpstreamScript {
  const script = streamAnswer({ words: WORDS });
  return 'chunks' in script ? { ...script, chunks: [{ delay_ms: ms }, ...(script.chunks ?? [])] } : script;
}

function ask(model: string, stream = false, extra: Readonly<Record<string, unknown>> = {}): Promise<Reply> {
  return send(question(model, { stream, ...extra }));
}

/** All sixty words, and the end that goes with them. */
function isWhole(reply: Reply): boolean {
  if (reply.status !== 200 || reply.broken) return false;
  if (reply.events.length > 0) return said(reply.events) === textOf(WORDS) && reply.events.at(-1) === '[DONE]';
  const choices = reply.json?.['choices'] as { message?: { content?: string } }[] | undefined;
  return choices?.[0]?.message?.content === textOf(WORDS);
}

/** An answer that cannot be finished: a clear error is a pass, a broken connection is safe, a clean end is a lie. */
function brokenOff(reply: Reply): Judged {
  if (isWhole(reply)) return pass('the whole answer');
  const error = reply.json?.['error'] as { code?: string } | undefined;
  if (!reply.broken && error !== undefined) return pass(`a clear error: ${error.code}`);
  if (reply.broken && !reply.text.includes('[DONE]') && !reply.text.includes('"finish_reason":"stop"')) {
    return { verdict: 'safe', note: 'the connection breaks, no end is shown' };
  }
  return fail(reply.text.slice(-200));
}

async function eventsOf(reply: Reply, count: number) {
  let events = [];
  for (let turn = 0; ; turn += 1) {
    events = (await gateway.ledger('acme', 1)).filter((one) => one.requestId === reply.requestId);
    if (events.length >= count || turn > 40) return events;
    await sleep(25);
  }
}

function printTable(): void {
  const rows = table.toSorted((one, other) => one.id.localeCompare(other.id));
  for (const { id, title, verdict, note } of rows)
    console.log(`${id}  ${verdict.padEnd(7)}  ${title.padEnd(44)}  ${note}`);
  const count = (verdict: Verdict): number => rows.filter((row) => row.verdict === verdict).length;
  console.log(
    `${rows.length} scenarios: ${count('pass')} pass, ${count('partial')} partial, ${count('safe')} safe, ${count('fail')} fail`,
  );
}
