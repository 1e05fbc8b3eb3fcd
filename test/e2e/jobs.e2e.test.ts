import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitUntil } from '../../src/app/wait-until.ts';
import { useGateway } from '../support/use-gateway.ts';
import { workerPids } from '../support/worker-pids.ts';
import { chatClient, errorOf, question } from './chat-client.ts';
import { wholeAnswer } from './openai-answers.ts';

const { gateway, upstream } = await useGateway({
  workers: 2,
  config: ([a]) => ({
    backends: [{ name: 'a', endpoints: [{ url: `${a.url}/v1` }] }],
    models: [
      { name: 'm', deployments: [{ backend: 'a', price: { prompt_per_mtok: 1, completion_per_mtok: 2 } }] },
      { name: 'narrow', deployments: [{ backend: 'a', limits: { concurrency: 1 } }] },
    ],
    tenants: [{ name: 'small', limits: { tokens_per_day: 10 } }],
    ledger: { lease: '20s' },
    jobs: { key: 'ab'.repeat(32), per_tenant: 3 },
  }),
});

type Json = Record<string, unknown>;

const token = await gateway.token();
const send = chatClient(gateway, token);
const leave = (model = 'm', more: Json = {}) => send(question(model, more), { headers: { prefer: 'respond-async' } });

async function job(path: string, { method = 'GET', as = token } = {}): Promise<{ status: number; json: Json }> {
  const response = await fetch(`${gateway.origin}${path}`, { method, headers: { authorization: `Bearer ${as}` } });
  return { status: response.status, json: (await response.json()) as Json };
}

async function ends(path: string, timeoutMs: number): Promise<Json> {
  let last: Json = {};
  const isOver = async (): Promise<boolean> => {
    // While workers come back nobody is there to ask.
    const { status, json } = await job(path);
    last = json;
    return status === 200 && json['status'] !== 'queued' && json['status'] !== 'running';
  };
  assert.ok(await waitUntil(isOver, { timeoutMs }), JSON.stringify(last));
  return last;
}

test('a request that nobody waits for is answered at once and served later, for its tenant alone', async () => {
  upstream.respondWith(() => wholeAnswer());
  const left = await leave();
  assert.equal(left.status, 202, left.text);
  assert.equal(left.headers.get('preference-applied'), 'respond-async');
  const path = left.headers.get('location') ?? '';
  const done = await ends(path, 10_000);
  assert.equal(done['status'], 'completed', JSON.stringify(done));
  const response = done['response'] as { status_code: number; body: Json; headers: Json };
  assert.deepEqual([response.status_code, response.body['object']], [200, 'chat.completion']);
  assert.equal(response.headers['x-tokenlat-backend'], 'a');
  const other = await gateway.token({ tenant: 'globex' });
  assert.equal((await job(path, { as: other })).status, 404);
  assert.equal((await job(path, { method: 'DELETE' })).status, 409);
  assert.equal(errorOf(await leave('m', { stream: true }))['code'], 'invalid_value');
  assert.equal(errorOf(await leave('none'))['code'], 'model_not_found');
  const events = await gateway.ledger('acme', 1);
  assert.equal(events.filter(({ status }) => status === 'complete').length, 1);
});

test('jobs that find no room get their turn soon, and the ledger has one request of each', async () => {
  const before = (await gateway.ledger('acme', 1)).length;
  upstream.respondWith(() => {
    const whole = wholeAnswer();
    return { ...whole, chunks: [{ delay_ms: 1500 }, ...(('chunks' in whole ? whole.chunks : undefined) ?? [])] };
  });
  const left = await Promise.all([1, 2, 3].map(() => leave('narrow')));
  for (const { headers } of left) {
    const done = await ends(headers.get('location') ?? '', 20_000);
    assert.equal((done['response'] as { status_code: number }).status_code, 200, JSON.stringify(done));
  }
  const figures = await (await fetch(`${gateway.ops}/metrics`)).text();
  assert.match(figures, /^tokenlat_jobs_total\{.*put_back.*\} [1-9]/m, 'somebody found no room');
  const events = (await gateway.ledger('acme', before + 3)).slice(before);
  assert.deepEqual(
    events.map(({ model, status, chargedTo }) => `${model} ${status} ${chargedTo}`),
    Array(3).fill('narrow complete tenant'),
  );
});

test('its quota is reserved when it is left: without it, nothing is kept', async () => {
  const poor = chatClient(gateway, await gateway.token({ tenant: 'small' }));
  const refused = await poor(question('m'), { headers: { prefer: 'respond-async' } });
  assert.equal(refused.status, 429, refused.text);
});

test('one that runs is cancelled, and its upstream let go of', async () => {
  upstream.respondWith({ hang: true });
  const path = (await leave()).headers.get('location') ?? '';
  assert.ok(await waitUntil(async () => (await job(path)).json['status'] === 'running', { timeoutMs: 15_000 }));
  assert.equal((await job(path, { method: 'DELETE' })).status, 200);
  assert.equal((await ends(path, 5000))['status'], 'cancelled');
});

test('a worker that is killed loses no job, and the tenant pays once', { timeout: 60_000 }, async () => {
  const before = (await gateway.ledger('acme', 1)).length;
  upstream.respondWith({ hang: true });
  const started = upstream.requests.length;
  const path = (await leave()).headers.get('location') ?? '';
  await upstream.waitForRequests(started + 1);
  // Whoever holds it, and whoever serves it.
  for (const pid of workerPids()) process.kill(pid, 'SIGKILL');
  upstream.respondWith(() => wholeAnswer());
  const done = await ends(path, 30_000);
  assert.equal(done['status'], 'completed', JSON.stringify(done));
  const paid = (await gateway.ledger('acme', before + 1))
    .slice(before)
    .filter(({ chargedTo }) => chargedTo === 'tenant');
  const complete = paid.filter(({ status }) => status === 'complete');
  assert.equal(complete.length, 1, JSON.stringify(paid));
  assert.ok(new Set(paid.map(({ operation }) => operation)).size === 1, JSON.stringify(paid));
});
