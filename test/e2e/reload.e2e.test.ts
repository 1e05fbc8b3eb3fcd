import assert from 'node:assert/strict';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { waitUntil } from '../../src/app/wait-until.ts';
import type { ConfigPart } from '../support/gateway.ts';
import { chatClient, question, type Reply } from './chat-client.ts';
import { streamAnswer, wholeAnswer } from './openai-answers.ts';
import { type Upstreams, useGateway } from '../support/use-gateway.ts';

const RELOADS = 24;

const { gateway, upstreams } = await useGateway({ config: (mocks) => configOf(mocks, 'a', 0) });
const [a, b] = upstreams;
let good = configOf(upstreams, 'a', 0);
const send = chatClient(gateway, await gateway.token());
for (const mock of [a, b]) {
  mock.respondWith(({ json }) =>
    (json as { stream?: boolean }).stream === true ? streamAnswer({ words: 20, paceMs: 5 }) : wholeAnswer(),
  );
}

/** Configurations that must not take effect: what is written, and what the log must say of it. */
const BAD: readonly { readonly name: string; readonly text: (whole: string) => string; readonly says: RegExp }[] = [
  { name: 'empty', text: () => '', says: /./ },
  { name: 'half written', text: (whole) => whole.slice(0, Math.floor(whole.length / 2)), says: /./ },
  { name: 'an unknown key', text: (whole) => `${whole}frobnicate: true\n`, says: /frobnicate/ },
  { name: 'a wrong type', text: (whole) => whole.replace(/retries: \d+/, 'retries: many'), says: /retries/ },
  { name: 'a key twice', text: (whole) => `${whole}retry:\n  retries: 1\n`, says: /retry|unique|twice|duplicate/i },
  {
    name: 'a backend that is not there',
    text: (whole) => whole.replace(/backend: \w+/, 'backend: nowhere'),
    says: /nowhere/,
  },
  {
    name: 'no authentication',
    text: (whole) => whole.replace(/issuers:[^]*?(?=\n\w)/, 'issuers: []'),
    says: /auth|issuer/,
  },
  { name: 'a YAML bomb', text: (whole) => `${whole}x: &x [a, a, a]\ny: &y [*x, *x, *x]\nz: [*y, *y, *y]\n`, says: /./ },
  { name: 'no YAML', text: () => '{{{{', says: /./ },
  { name: 'binary', text: () => '\u0000\u0001\uFFFD', says: /./ },
];

test('reloads under load: no failed request, one generation each, bad ones refused', { timeout: 60_000 }, async () => {
  const load = new AbortController();
  const replies: Reply[] = [];
  const worker = async (stream: boolean): Promise<void> => {
    while (!load.signal.aborted) replies.push(await send(question('m', { stream })));
  };
  const workers = [worker(false), worker(false), worker(true), worker(true), worker(true)];
  const refusals = (): number =>
    gateway.log().filter((line) => String(line['msg']).startsWith('new configuration refused')).length;
  let generation = 1;
  const backendOf = new Map([[1, 'a']]);
  for (let turn = 1; turn <= RELOADS; turn += 1) {
    if (turn % 2 === 0) {
      const bad = BAD[(turn / 2) % BAD.length];
      assert.ok(bad !== undefined);
      const before = refusals();
      replaceFile(bad.text(readFileSync(gateway.configPath, 'utf8')));
      assert.ok(await waitUntil(() => refusals() > before, { timeoutMs: 15_000 }), `${bad.name} was not refused`);
      gateway.reconfigure(good);
      continue;
    }
    const backend = turn % 4 === 1 ? 'b' : 'a';
    good = configOf(upstreams, backend, turn);
    gateway.reconfigure(good);
    generation += 1;
    backendOf.set(generation, backend);
    const wanted = generation;
    assert.ok(await waitUntil(() => newest() >= wanted, { timeoutMs: 15_000 }), `generation ${wanted} never came`);
  }
  load.abort();
  await Promise.all(workers);

  const failed = replies.filter((reply) => reply.status !== 200 || reply.broken || reply.text.includes('"error"'));
  assert.deepEqual(
    failed.map((reply) => `${reply.status} ${reply.text.slice(-200)}`),
    [],
  );
  assert.ok(replies.length > RELOADS, `only ${replies.length} requests`);
  for (const reply of replies.filter((one) => one.text.startsWith('data:')))
    assert.equal(reply.events.at(-1), '[DONE]');
  assert.equal(newest(), generation, 'a bad configuration was taken up');
  const stories = (): ReadonlyMap<unknown, Record<string, unknown>> =>
    new Map(gateway.log().flatMap((line) => (line['msg'] === 'request' ? [[line['request_id'], line]] : [])));
  let traces = stories();
  await waitUntil(
    () => {
      traces = stories();
      return replies.every((reply) => traces.has(reply.requestId));
    },
    { timeoutMs: 2000 },
  );
  for (const reply of replies) {
    const trace = traces.get(reply.requestId);
    // The model of a generation is at one backend; a mixture of two generations would show the other.
    const backend = backendOf.get(Number(trace?.['config_generation']));
    assert.equal(
      reply.headers.get('x-tokenlat-backend'),
      backend,
      `generation ${String(trace?.['config_generation'])}`,
    );
  }
  assert.ok(new Set([...traces.values()].map((trace) => trace['config_generation'])).size > RELOADS / 4);
});

for (const bad of BAD) {
  test(`${bad.name}: refused, with its line, and the old one serves`, async () => {
    const whole = readFileSync(gateway.configPath, 'utf8');
    const before = gateway.log().length;
    const refusal = (): Record<string, unknown> | undefined =>
      gateway
        .log()
        .slice(before)
        .find((line) => String(line['msg']).startsWith('new configuration refused'));
    try {
      replaceFile(bad.text(whole));
      assert.ok(await waitUntil(() => refusal() !== undefined, { timeoutMs: 15_000 }), 'not refused');
      assert.equal((await send(question('m'))).status, 200);
      assert.match(await readiness(), /config/);
    } finally {
      replaceFile(whole);
      assert.ok(
        await waitUntil(async () => !(await readiness()).includes('config'), { timeoutMs: 15_000 }),
        'still unwell',
      );
    }
    const first = refusal()?.['first'] as { line: number; column: number; message: string; path: string };
    assert.ok(first.line >= 1 && first.column >= 1, JSON.stringify(first));
    assert.match(`${first.path} ${first.message}`, bad.says);
    assert.doesNotMatch(JSON.stringify(refusal()), /a-shared-secret-of-the-tests/, 'a secret in the log');
  });
}

test('a request keeps the configuration that it began with', async () => {
  const at = (good['models'] as { deployments: { backend: string }[] }[])[0]?.deployments[0]?.backend === 'a' ? a : b;
  at.requests.length = 0;
  at.queue(streamAnswer({ words: 60, paceMs: 20 }));
  const asked = send(question('m', { stream: true }));
  await at.waitForRequests(1);
  const known = newest();
  good = configOf(upstreams, at === a ? 'b' : 'a', 999);
  gateway.reconfigure(good);
  assert.ok(await waitUntil(() => newest() > known, { timeoutMs: 15_000 }));
  const next = await send(question('m'));
  assert.equal(next.headers.get('x-tokenlat-backend'), at === a ? 'b' : 'a');
  const reply = await asked;
  assert.equal(reply.events.at(-1), '[DONE]');
  assert.equal(reply.headers.get('x-tokenlat-backend'), at === a ? 'a' : 'b');
  const [old, now] = await Promise.all([gateway.trace(reply.requestId), gateway.trace(next.requestId)]);
  assert.ok(Number(old['config_generation']) < Number(now['config_generation']));
});

test('a change of a limit counts for the next request', async () => {
  const known = newest();
  good = { ...good, tenants: [{ name: 'acme', limits: { requests_per_minute: 1 } }] };
  gateway.reconfigure(good);
  assert.ok(await waitUntil(() => newest() > known, { timeoutMs: 15_000 }));
  const statuses = [];
  for (let turn = 0; turn < 2; turn += 1) statuses.push((await send(question('m'))).status);
  assert.equal(statuses.at(-1), 429);
});

test('a new backend is reached as soon as it is configured, and a removed model is gone', async () => {
  const known = newest();
  const { tenants: _dropped, ...rest } = good;
  good = { ...rest, models: [{ name: 'fresh', deployments: [{ backend: 'b' }] }] };
  gateway.reconfigure(good);
  assert.ok(await waitUntil(() => newest() > known, { timeoutMs: 15_000 }));
  // The server knows the new model; Envoy takes its cluster up from its own file, which may be a moment later.
  let reply: Reply | undefined;
  await waitUntil(async () => ((reply = await send(question('fresh'))), reply.status === 200), { timeoutMs: 15_000 });
  assert.equal(reply?.status, 200, reply?.text);
  assert.equal((await send(question('m'))).status, 404);
});

function newest(): number {
  const generations = gateway
    .log()
    .filter((line) => line['msg'] === 'configuration reloaded')
    .map((line) => Number(line['generation']));
  return Math.max(1, ...generations);
}

/** The file is replaced by a rename, as editors and deployments do. */
function replaceFile(text: string): void {
  const next = join(gateway.dir, 'next.yaml');
  writeFileSync(next, text);
  renameSync(next, gateway.configPath);
}

async function readiness(): Promise<string> {
  return (await fetch(`${gateway.ops}/readyz`)).text();
}

function configOf([a, b]: Upstreams, backend: string, turn: number): ConfigPart {
  return {
    backends: [
      { name: 'a', endpoints: [{ url: `${a.url}/v1` }] },
      { name: 'b', endpoints: [{ url: `${b.url}/v1` }] },
    ],
    models: [{ name: 'm', deployments: [{ backend, price: { prompt_per_mtok: turn, completion_per_mtok: turn } }] }],
    retry: { retries: turn % 3 },
  };
}
