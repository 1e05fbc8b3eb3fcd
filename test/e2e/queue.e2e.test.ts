/** Limits in front of backends, and the queue: through Envoy. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { quietPorts } from '../support/quiet-ports.ts';
import { waitUntil } from '../../src/app/wait-until.ts';
import { useGateway } from '../support/use-gateway.ts';
import { chatClient, errorOf, question, type Reply, type Send } from './chat-client.ts';
import { PROMPT_TOKENS, wholeAnswer } from './openai-answers.ts';

const [SIZE, RATE, WORDS, BURST_MS] = [6, 400, 20, 500];
const [nobody = 0] = await quietPorts(1);

const { gateway, upstreams } = await useGateway({
  config: ([one, rated]) => ({
    server: { message_timeout: '12s' },
    breakers: { when_all_open: 'refuse' },
    priorities: { batch_tiers: ['nightly'] },
    backends: [
      {
        name: 'one',
        endpoints: [{ url: `${one.url}/v1` }],
        limits: { per_instance: 2, queue: { size: SIZE, timeout: '6s' }, text: 'Come back later.' },
      },
      {
        name: 'rated',
        endpoints: [{ url: `${rated.url}/v1` }],
        limits: { tokens_per_second: RATE, burst: `${BURST_MS}ms`, queue: { size: 50, timeout: '10s' } },
      },
      {
        name: 'dead',
        endpoints: [{ url: `http://127.0.0.1:${nobody}/v1` }],
        health: { network: { interval: '500ms', timeout: '200ms' } },
        limits: { concurrency: 1, queue: { size: 5 } },
      },
    ],
    models: ['one', 'rated', 'dead'].map((name) => ({
      name,
      deployments: [{ backend: name, price: { prompt_per_mtok: 1, completion_per_mtok: 2 } }],
    })),
  }),
});
const [one, rated] = upstreams;
const clients = new Map<string, Send>();
for (const tenant of ['holder', 't', 'u', 'nightly'])
  clients.set(tenant, chatClient(gateway, await gateway.token({ tenant, tier: tenant })));
const sendAs = (tenant: string): Send => clients.get(tenant) as Send;

/** Answers that the upstream `one` owes. */
let held: (() => void)[] = [];
beforeEach(() => {
  held = [];
  one.clear();
  one.respondWith(async () => {
    await new Promise<void>((resolve) => held.push(resolve));
    return wholeAnswer(WORDS);
  });
  rated.respondWith(wholeAnswer(WORDS));
});

async function figure(name: string): Promise<number> {
  const text = await (await fetch(`${gateway.ops}/metrics`)).text();
  return text
    .split('\n')
    .filter((line) => line.startsWith(name))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
const waiting = (): Promise<number> => figure('tokenlat_queue_length{model="one"');

/** Of some two thousand tokens: about what a tenant gets in its turn. */
function ask(tenant: string, id: string, { headers = {}, ...sent }: Parameters<Send>[1] = {}): Promise<Reply> {
  return sendAs(tenant)(question('one', { max_tokens: 2000 }), {
    ...sent,
    headers: { 'x-request-id': id, ...headers },
  });
}

/** Takes the only slot: two an endpoint × 0.7. */
async function takeSlot(): Promise<{ readonly reply: Promise<Reply> }> {
  const reply = ask('holder', 'first');
  await waitUntil(async () => held.length === 1, { timeoutMs: 15_000 });
  return { reply };
}

/** Sends, and comes back when it waits. */
async function wait(...sent: Parameters<typeof ask>): Promise<{ readonly reply: Promise<Reply> }> {
  const before = await waiting();
  const reply = ask(...sent);
  await waitUntil(async () => (await waiting()) > before, { timeoutMs: 15_000 });
  assert.equal(await waiting(), before + 1);
  return { reply };
}

/** Answers one after the other. */
async function answer(count: number): Promise<void> {
  for (let done = 0; done < count; done += 1) {
    await waitUntil(async () => held.length > 0, { timeoutMs: 15_000 });
    assert.equal(held.length, 1, 'one at a time');
    held.shift()?.();
  }
}
const ids = (): readonly (string | undefined)[] => one.requests.map((request) => request.header('x-request-id'));

test('interactive before batch, and tenants by turns', async () => {
  const first = await takeSlot();
  const waits = [
    await wait('nightly', 'by-tier'),
    await wait('t', 'by-header', { headers: { 'x-request-priority': 'batch' } }),
    await wait('t', 't1'),
    await wait('t', 't2'),
    await wait('u', 'u1'),
  ];
  await answer(6);
  for (const { reply } of [first, ...waits]) assert.equal((await reply).status, 200);
  assert.deepEqual(ids(), ['first', 't1', 'u1', 't2', 'by-tier', 'by-header']);
  assert.equal(await figure('tokenlat_queue_wait_seconds_count{priority="interactive"}'), 3);
  assert.equal(await figure('tokenlat_queue_wait_seconds_count{priority="batch"}'), 2);
  const refused = await ask('t', 'odd', { headers: { 'x-request-priority': 'highest' } });
  assert.deepEqual([refused.status, errorOf(refused)['code']], [400, 'invalid_header']);
});

test('a full queue: 429 that says when to come back; a tenant with less gets in; who leaves frees its place', async () => {
  const first = await takeSlot();
  const gone = new AbortController();
  const waits: { readonly reply: Promise<Reply> }[] = [];
  for (const at of [1, 2, 3, 4]) waits.push(await wait('t', `t${at}`));
  const leaving = await wait('t', 't5', { signal: gone.signal });
  const leaves = assert.rejects(leaving.reply);
  const last = await wait('t', 't6');
  const full = await ask('t', 't7');
  assert.deepEqual(
    [full.status, errorOf(full)['code'], errorOf(full)['message']],
    [429, 'deployment_saturated', 'Come back later.'],
  );
  assert.equal(full.headers.get('x-refused-reason'), 'queue_full');
  const seconds = Number(full.headers.get('retry-after'));
  assert.ok(seconds >= 1 && seconds <= 60, String(seconds));
  const other = ask('u', 'u1');
  const displaced = await last.reply;
  assert.deepEqual([displaced.status, displaced.headers.get('x-refused-reason')], [429, 'displaced']);
  assert.equal(await waiting(), SIZE);
  gone.abort();
  await leaves;
  await waitUntil(async () => (await waiting()) === SIZE - 1, { timeoutMs: 15_000 });
  await answer(6);
  for (const reply of [first.reply, other, ...waits.map((each) => each.reply)]) assert.equal((await reply).status, 200);
  assert.deepEqual(
    ids().filter((id) => id !== 'u1'),
    ['first', 't1', 't2', 't3', 't4'],
  );
  assert.ok([1, 2].includes(ids().indexOf('u1')), 'its turn comes at once');
  assert.equal(await figure('tokenlat_queue_refused_total{model="one"'), 2);
});

test('nobody lives: 503 at once, and no wait', async () => {
  const send = sendAs('t');
  await waitUntil(async () => errorOf(await send(question('dead')))['code'] === 'no_candidate', { timeoutMs: 15_000 });
  const began = performance.now();
  const reply = await send(question('dead'));
  assert.deepEqual([reply.status, reply.headers.get('x-fallback-reason')], [503, 'network_unreachable']);
  assert.ok(Number(reply.headers.get('retry-after')) >= 1);
  assert.ok(performance.now() - began < 1000);
});

test('tokens a second: what is used, not what was asked for, is the rate', async (t) => {
  const send = sendAs('t');
  const each = PROMPT_TOKENS + WORDS;
  let stop = false;
  const served: number[] = [];
  const statuses = new Set<number>();
  const client = async (): Promise<void> => {
    while (!stop) {
      // Twice as much as it will use.
      const { status } = await send(question('rated', { max_tokens: 2 * WORDS }));
      statuses.add(status);
      served.push(performance.now());
    }
  };
  const began = performance.now();
  const clients = Array.from({ length: 12 }, client);
  /** Tokens a second of the last four. */
  const rate = (): number => (served.filter((at) => at > performance.now() - 4000).length * each) / 4;
  // A machine that stands still for a moment loses what it could not use, and the first four seconds have what was saved.
  const isKept = await waitUntil(() => Math.abs(rate() / RATE - 1) <= 0.1 && performance.now() - began > 4500, {
    timeoutMs: 30_000,
  });
  t.diagnostic(`${rate().toFixed(0)} tokens a second of ${RATE}`);
  const told = `${rate()} tokens a second`;
  const most = (RATE * (performance.now() - began + BURST_MS)) / 1000 + each;
  const used = served.length * each;
  stop = true;
  await Promise.all(clients);
  assert.deepEqual([...statuses], [200]);
  assert.ok(isKept, told);
  assert.ok(used <= most, `${used} tokens where there were ${most} at most`);
  assert.equal(await figure('tokenlat_rate_share{deployment="rated@rated"'), RATE);
});
