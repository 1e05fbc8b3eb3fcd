import assert from 'node:assert/strict';
import { after, before, beforeEach, type TestContext, test } from 'node:test';
import { waitUntil } from '../../src/app/wait-until.ts';
import { placeOf } from '../../src/lib/sticky/place-of.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { type MockUpstream, startMockUpstream } from '../support/mock-upstream.ts';
import { chatClient, errorOf, question, type Reply, said, type Send } from './chat-client.ts';
import { streamAnswer, textOf, wholeAnswer } from './openai-answers.ts';
import { PacedLoad } from './paced-load.ts';

const SHARE = 0.3;
const WORDS = 5;
/** Thresholds for a machine that does other things besides: loads lie well between them. */
const [AT_1, AT_2, AT_3] = [20, 40, 80];
const [IN_1, IN_2, IN_3] = [30, 58, 110];
const LEAVE_MS = 2000;
const NAMES = Array.from({ length: 40 }, (_, index) => `tenant-${index}`);

let big: MockUpstream;
let light: MockUpstream;
let gateway: TestGateway;
let load: PacedLoad;
let filler: Send;

before(async () => {
  [big, light] = await Promise.all([startMockUpstream(), startMockUpstream()]);
  const price = { prompt_per_mtok: 1, completion_per_mtok: 2 };
  gateway = await startGateway({
    workers: 2,
    config: {
      backends: [
        { name: 'a', endpoints: [{ url: `${big.url}/v1` }] },
        { name: 'b', endpoints: [{ url: `${light.url}/v1` }] },
      ],
      models: [
        { name: 'big', deployments: [{ backend: 'a', price }] },
        { name: 'strict', deployments: [{ backend: 'a', price }] },
        { name: 'light', deployments: [{ backend: 'b', price }] },
      ],
      routes: [
        { name: 'strict', models: ['strict'] },
        { name: 'open', models: ['big'], divert: true, reduce_n: true },
      ],
      tenants: [
        { name: 'vip', tier: 'gold' },
        { name: 'tight', limits: { tokens_per_minute: 300 } },
      ],
      surge: {
        leave_after: `${LEAVE_MS}ms`,
        exempt_tiers: ['gold'],
        levels: [
          { above: AT_1, actions: { refuse_n: {} } },
          { above: AT_2, actions: { divert: { share: SHARE, model: 'light' } } },
          { above: AT_3, actions: { buffer_streams: true } },
        ],
      },
    },
  });
  filler = await clientOf('filler');
  load = new PacedLoad(() => filler(question('strict')));
});
after(async () => {
  try {
    await load.stop();
    await gateway.stop();
  } finally {
    await Promise.all([big.close(), light.close()]);
  }
});
beforeEach(() => {
  for (const upstream of [big, light]) {
    upstream.respondWith(({ json }) => {
      const { stream = false, n = 1 } = json as { stream?: boolean; n?: number };
      return stream ? streamAnswer({ words: WORDS }) : wholeAnswer(WORDS * n);
    });
  }
});

test('as usual nothing is touched', async () => {
  const send = await clientOf('acme');
  const reply = await send(question('strict', { n: 2 }));
  assertUsual(reply, 'strict');
  assert.equal(await levelNow(), 0);
});

test('level 1: n is refused with what would pass, or cut down where caller or route allow it', async (t) => {
  await enter(t, IN_1, 1);
  const send = await clientOf('acme');
  const refused = await load.send(() => send(question('strict', { n: 3 })));
  assert.equal(refused.status, 429, refused.text);
  assert.equal(errorOf(refused)['code'], 'surge_protection');
  assert.equal(errorOf(refused)['param'], 'n');
  assert.match(String(errorOf(refused)['message']), /Send n: 1/);
  assert.deepEqual(
    ['retry-after', 'x-tokenlat-surge', 'x-tokenlat-largest-n'].map((name) => refused.headers.get(name)),
    ['2', '1', '1'],
  );
  assert.equal((await gateway.trace(refused.requestId))['error'], 'surge_protection');

  const cut = await load.send(() => send(question('strict', { n: 3 }), { headers: { 'x-accept-adapted': 'n' } }));
  const routed = await load.send(() => send(question('big', { n: 3 })));
  for (const [reply, by] of [
    [cut, 'caller'],
    [routed, 'route'],
  ] as const) {
    assert.equal(reply.status, 200, reply.text);
    assert.equal(reply.headers.get('x-resource-adapted'), 'n_reduced_from_3_to_1');
    assert.equal(reply.headers.get('x-tokenlat-surge'), '1');
    assert.equal((jsonAt(big, reply) as { n: number }).n, 1);
    assert.equal(upstreamHeader(big, reply, 'x-accept-adapted'), undefined);
    const [event] = await gateway.eventsOf('acme', reply.requestId);
    assert.equal(event?.completionTokens, WORDS, 'billed is what was made');
    const trace = await gateway.trace(reply.requestId);
    const told = { level: 1, n_reduced: { from: 3, to: 1, by }, diverted: false, buffered: false };
    assert.deepEqual(trace['surge'], told);
  }

  const tight = await clientOf('tight');
  const fits = await load.send(() =>
    tight(question('strict', { n: 4, max_tokens: 100 }), { headers: { 'x-accept-adapted': 'n' } }),
  );
  assert.equal(fits.status, 200, `reserved for one choice, not for four: ${fits.text}`);
  assertUsual(await load.send(() => send(question('strict'))), 'strict');
});

test('level 2: the share of the tenants goes to the light model, and nobody else notices', async (t) => {
  await enter(t, IN_2, 2);
  const senders = await Promise.all(NAMES.map(clientOf));
  const replies = await Promise.all(senders.map((send) => load.send(() => send(question('big')))));
  const expected = NAMES.filter((name) => placeOf(name) < SHARE);
  assert.ok(expected.length > 4 && expected.length < 25, 'the names are a fit sample');
  const diverted = NAMES.filter((_, at) => replies[at]?.headers.get('x-tokenlat-model') === 'light');
  assert.deepEqual(diverted, expected);
  for (const [at, reply] of replies.entries()) {
    assert.equal(reply.status, 200, reply.text);
    if (!diverted.includes(NAMES[at] ?? '')) assertUsual(reply, 'big');
    else {
      assert.equal(reply.headers.get('x-fallback-reason'), 'surge');
      assert.equal(reply.headers.get('x-tokenlat-surge'), '2');
    }
  }
  const [someone = ''] = expected;
  const send = await clientOf(someone);
  assertUsual(await load.send(() => send(question('strict'))), 'strict');
  const figures = await metrics();
  assert.equal(figures.get('tokenlat_surge_actions_total{action="diverted"}'), expected.length);
});

test('level 3: upstreams are asked for whole answers, clients still get their streams', async (t) => {
  await enter(t, IN_3, 3);
  const send = await clientOf('acme');
  const reply = await load.send(() =>
    send(question('strict', { stream: true, stream_options: { include_usage: true } })),
  );
  assert.equal(reply.status, 200, reply.text);
  const asked = jsonAt(big, reply) as { stream: boolean; stream_options?: object };
  assert.deepEqual([asked.stream, asked.stream_options], [false, undefined]);
  assert.equal(reply.headers.get('content-type'), 'text/event-stream');
  assert.equal(reply.headers.get('x-tokenlat-surge'), '3');
  assert.equal(said(reply.events), textOf(WORDS));
  assert.equal(reply.events.at(-1), '[DONE]');
  const usage = reply.json?.['usage'] as { completion_tokens: number } | undefined;
  assert.equal(usage?.completion_tokens, WORDS);
  const [event] = await gateway.eventsOf('acme', reply.requestId);
  assert.equal(event?.completionTokens, WORDS);

  const vip = await clientOf('vip');
  const spared = await load.send(() => vip(question('strict', { stream: true, n: 2 })));
  assertUsual(spared, 'strict');
  assert.equal((jsonAt(big, spared) as { stream: boolean }).stream, true);
});

test('when the load is gone, everything is as before; both workers changed together', async (t) => {
  await load.stop();
  const gone = performance.now();
  await waitUntil(async () => (await levelNow()) === 0, { timeoutMs: 20_000 });
  const took = performance.now() - gone;
  assert.ok(took >= LEAVE_MS && took < 12_000, `left after ${Math.round(took)} ms`);
  t.diagnostic(`left after ${Math.round(took)} ms`);
  const send = await clientOf('acme');
  assertUsual(await send(question('strict', { n: 2 })), 'strict');
  const changes = gateway
    .log()
    .filter(({ msg }) => String(msg).startsWith('surge level'))
    .map(({ msg, time, worker }) => ({ level: Number(String(msg).slice(-1)), time: Date.parse(String(time)), worker }));
  for (const level of [1, 2, 3]) {
    // When each worker was first at least so high.
    const firsts = [0, 1].map((worker) => changes.find((one) => one.worker === worker && one.level >= level)?.time);
    const [one = 0, other = 0] = firsts;
    t.diagnostic(`level ${level}: ${Math.abs(one - other)} ms between the workers`);
    assert.ok(one > 0 && other > 0 && Math.abs(one - other) <= 2000, `level ${level}: ${JSON.stringify(changes)}`);
  }
});

/** Sends at a rate until the level is there, and asserts that it came in time. */
async function enter(t: TestContext, rate: number, level: number): Promise<void> {
  const start = performance.now();
  load.run(rate);
  await waitUntil(async () => (await levelNow()) >= level, { timeoutMs: 12_000 });
  assert.equal(await levelNow(), level);
  t.diagnostic(`level ${level} after ${Math.round(performance.now() - start)} ms`);
  // All have heard of it by then.
  await new Promise((resolve) => setTimeout(resolve, 2000));
  assert.equal(await levelNow(), level);
}

async function clientOf(tenant: string): Promise<Send> {
  return chatClient(gateway, await gateway.token({ tenant }));
}

function assertUsual(reply: Reply, model: string): void {
  assert.equal(reply.status, 200, reply.text);
  for (const name of ['x-tokenlat-surge', 'x-resource-adapted', 'x-fallback-reason'])
    assert.equal(reply.headers.get(name), null, name);
  assert.equal(reply.headers.get('x-tokenlat-model'), model);
}

const requestAt = (upstream: MockUpstream, { requestId }: Reply) =>
  upstream.requests.find((request) => request.header('x-request-id') === requestId);
const jsonAt = (upstream: MockUpstream, reply: Reply): unknown => requestAt(upstream, reply)?.json;
const upstreamHeader = (upstream: MockUpstream, reply: Reply, name: string): string | undefined =>
  requestAt(upstream, reply)?.header(name);

async function metrics(): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${gateway.ops}/metrics`)).text();
  return new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

async function levelNow(): Promise<number> {
  return (await metrics()).get('tokenlat_surge_level') ?? -1;
}
