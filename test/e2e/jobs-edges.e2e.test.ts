/** Jobs where it is hard to be right once: whoever holds or serves them dies, the store stands still, time is up, the answer is too large. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { waitUntil } from '../../src/app/wait-until.ts';
import type { LedgerEvent } from '../../src/core/ledger-event.ts';
import { useGateway } from '../support/use-gateway.ts';
import { workerPids } from '../support/worker-pids.ts';
import { chatClient, question } from './chat-client.ts';
import { wholeAnswer } from './openai-answers.ts';

type Json = Record<string, unknown>;

const PRICE = { prompt_per_mtok: 1000, completion_per_mtok: 2000 };
const OVER: readonly unknown[] = ['completed', 'failed', 'cancelled', 'expired'];

const { gateway, upstream } = await useGateway({
  workers: 2,
  config: ([a]) => ({
    backends: [{ name: 'a', endpoints: [{ url: `${a.url}/v1` }] }],
    models: [{ name: 'm', deployments: [{ backend: 'a', price: PRICE }] }],
    tenants: [{ name: 'acme', limits: { tokens_per_day: 1_000_000 } }],
    limits: { response: '64KiB', event: '64KiB' },
    retry: { retries: 0 },
    jobs: { key: 'ab'.repeat(32), max_age: '2s', concurrency: 1 },
  }),
  atEnd: () => redis.disconnect(),
});
const redis = new Redis(join(gateway.dir, 'redis', 'redis.sock'));
const token = await gateway.token();

async function leave(): Promise<string> {
  const left = await chatClient(gateway, token)(question('m'), { headers: { prefer: 'respond-async' } });
  assert.equal(left.status, 202, left.text);
  return left.headers.get('location') ?? '';
}

async function job(path: string, { method = 'GET', as = token } = {}): Promise<{ status: number; json: Json }> {
  const response = await fetch(`${gateway.origin}${path}`, { method, headers: { authorization: `Bearer ${as}` } });
  return { status: response.status, json: (await response.json()) as Json };
}

const kept = (path: string): Promise<Record<string, string>> =>
  redis.hgetall(`tl:{~}:jobs:${path.split('/').pop() ?? ''}`);

async function ends(path: string, timeoutMs: number): Promise<Json> {
  let last: Json = {};
  const isOver = async (): Promise<boolean> => {
    const { status, json } = await job(path);
    last = json;
    return status === 200 && OVER.includes(json['status']);
  };
  // While workers come back nobody is there to ask.
  assert.ok(await waitUntil(() => isOver().catch(() => false), { timeoutMs }), JSON.stringify(last));
  return last;
}

const codeOf = (done: Json): unknown => (done['response'] as { readonly status_code: number }).status_code;

/** What the tenant has paid since, once nothing is reserved any more: entries and their sum in micro-units. */
async function paidSince(before: number): Promise<{ readonly complete: number; readonly cost: number }> {
  const isClosed = async (): Promise<boolean> => (await gateway.stores.ledger.open()) === 0;
  assert.ok(await waitUntil(isClosed, { timeoutMs: 20_000 }), 'something is reserved still');
  const own = (await events()).slice(before).filter(({ chargedTo }) => chargedTo === 'tenant');
  return {
    complete: own.filter(({ status }) => status === 'complete').length,
    cost: own.reduce((sum, { cost }) => sum + cost, 0),
  };
}

const events = (): Promise<readonly LedgerEvent[]> => gateway.ledger('acme', 0);

test('an answer that is too large is an error that is kept, and one of another tenant is nobody’s', async () => {
  const before = (await events()).length;
  upstream.respondWith(() => wholeAnswer(40_000));
  const path = await leave();
  const other = await gateway.token({ tenant: 'globex' });
  for (const method of ['GET', 'DELETE']) assert.equal((await job(path, { method, as: other })).status, 404);
  const done = await ends(path, 10_000);
  assert.deepEqual([done['status'], codeOf(done)], ['completed', 502], JSON.stringify(done));
  assert.equal((await paidSince(before)).complete, 0);
});

test('one that runs when its time to wait is over runs to its end', async () => {
  const before = (await events()).length;
  upstream.respondWith(() => slow(3000));
  const done = await ends(await leave(), 10_000);
  assert.deepEqual([done['status'], codeOf(done)], ['completed', 200]);
  assert.deepEqual(await paidSince(before), { complete: 1, cost: 15_000 });
});

test('a store that stands still when the answer comes gets it afterwards, and the tenant pays once', async () => {
  const before = (await events()).length;
  const asked = upstream.requests.length;
  upstream.respondWith(() => slow(1500));
  const path = await leave();
  await upstream.waitForRequests(asked + 1);
  const pid = Number(readFileSync(join(gateway.dir, 'redis', 'redis.pid'), 'utf8'));
  process.kill(pid, 'SIGSTOP');
  try {
    await new Promise((resolve) => setTimeout(resolve, 3500));
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  const done = await ends(path, 15_000);
  assert.deepEqual([done['status'], codeOf(done)], ['completed', 200]);
  assert.equal(upstream.requests.length, asked + 1, 'it was not run twice');
  assert.deepEqual(await paidSince(before), { complete: 1, cost: 15_000 });
});

test(
  'who serves it dies, and who holds it right after it was put back: nothing stays reserved',
  { timeout: 60_000 },
  async () => {
    const before = (await events()).length;
    for (let round = 0; round < 12; round += 1) {
      upstream.respondWith({ hang: true });
      const asked = upstream.requests.length;
      const path = await leave();
      await upstream.waitForRequests(asked + 1);
      const { holder = '' } = await kept(path);
      const isHolder = (pid: number): boolean => holder.includes(`-${pid}-`);
      const [own, server] = [workerPids().find(isHolder), workerPids().find((pid) => !isHolder(pid))];
      assert.ok(own !== undefined && server !== undefined, holder);
      // Envoy may have chosen the holder: then nobody that counts dies.
      process.kill(server, 'SIGKILL');
      const isBroken = (): boolean => upstream.requests[asked]?.abortedAt !== null;
      if (!(await waitUntil(isBroken, { timeoutMs: 2000, everyMs: 10 }))) {
        assert.equal((await job(path, { method: 'DELETE' })).status, 200);
        assert.equal((await ends(path, 10_000))['status'], 'cancelled');
        await waitUntil(async () => workerPids().length === 2, { timeoutMs: 10_000 });
        continue;
      }
      const isBack = async (): Promise<boolean> => (await kept(path))['state'] === 'queued';
      assert.ok(await waitUntil(isBack, { timeoutMs: 10_000, everyMs: 10 }), 'it was not put back');
      process.kill(own, 'SIGKILL');
      await ends(path, 20_000);
      assert.equal((await paidSince(before)).cost, 0);
      return;
    }
    assert.fail('the holder was asked each time');
  },
);

/** A whole answer of 5 and 5 tokens after `ms`. */
function slow(ms: number) {
  const body = {
    id: 'x',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 },
  };
  const headers = { 'content-type': 'application/json' };
  return { status: 200, headers, chunks: [{ delay_ms: ms }, JSON.stringify(body)], framing: 'chunked' } as const;
}
