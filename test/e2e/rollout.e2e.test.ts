import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { quietPorts } from '../support/quiet-ports.ts';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { waitUntil } from '../../src/app/wait-until.ts';
import { parseRequestId } from '../../src/core/ids.ts';
import { useGateway } from '../support/use-gateway.ts';
import { chatClient, question, type Send } from './chat-client.ts';
import { wholeAnswer } from './openai-answers.ts';

const TOKEN = 'an-admin-token-of-the-tests-0123456789abcdef';
/** So many that half of them is never far from half by chance. */
const SUBJECTS = 64;

const [port = 0] = await quietPorts(1);
const { gateway, upstreams } = await useGateway({
  workers: 2,
  config: ([a, b]) => ({
    backends: [
      { name: 'a', endpoints: [{ url: `${a.url}/v1` }] },
      { name: 'b', endpoints: [{ url: `${b.url}/v1` }] },
    ],
    models: [
      { name: 'm', deployments: [{ backend: 'a' }] },
      { name: 's', deployments: [{ backend: 'a' }, { backend: 'b', stage: 'gray' }] },
    ],
    admin: { port, tokens: [{ name: 'ops', role: 'admin', token: TOKEN }] },
    audit: { dir: 'audit', key_file: 'audit.key', checkpoint: { dir: 'checkpoints' } },
  }),
});
for (const at of [0, 1] as const) upstreams[at].respondWith(() => wholeAnswer());
upstreams[2].respondWith({ status: 500, chunks: ['{"error":{"message":"broken"}}'] });

type Json = Record<string, unknown>;

async function admin(method: string, path: string, body?: unknown, etag?: string): Promise<Json> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      ...(method === 'GET' ? {} : { 'idempotency-key': randomUUID() }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(etag === undefined ? {} : { 'if-match': etag }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const json = (await response.json()) as Json;
  assert.ok(response.ok, JSON.stringify(json));
  return json;
}

/** The file as it is, with model `m` on a backend that is not there yet. */
function candidate(backend: string, url: string): string {
  const document = parse(readFileSync(gateway.configPath, 'utf8')) as Json & { backends: Json[]; models: Json[] };
  const backends = [...document.backends, { name: backend, endpoints: [{ url: `${url}/v1` }] }];
  const models = document.models.map((model) =>
    model['name'] === 'm' ? { ...model, deployments: [{ backend }] } : model,
  );
  return stringify({ ...document, backends, models });
}

interface Seen {
  readonly subject: number;
  readonly sentAt: number;
  readonly endedAt: number;
  readonly status: number;
  readonly backend: string;
}

const clients: readonly Send[] = await Promise.all(
  Array.from({ length: SUBJECTS }, async (_, at) => chatClient(gateway, await gateway.token({ sub: `user-${at}` }))),
);

/** Subjects take turns until it is over. */
async function traffic(isOver: () => boolean): Promise<readonly Seen[]> {
  const seen: Seen[] = [];
  let turn = 0;
  const loop = async (): Promise<void> => {
    while (!isOver()) {
      const subject = turn++ % SUBJECTS;
      const sentAt = Date.now();
      const { status, headers } = await (clients[subject] as Send)(question('m'));
      const backend = headers.get('x-tokenlat-backend') ?? '';
      seen.push({ subject, sentAt, endedAt: Date.now(), status, backend });
    }
  };
  await Promise.all([loop(), loop(), loop(), loop()]);
  return seen;
}

const current = (): Promise<Json> => admin('GET', '/admin/rollouts/current');

/** Rolls out, with requests all the time, until it is over and for a second more. */
async function rollOut(text: string, forSeconds: number) {
  const begun = await admin('POST', '/admin/rollouts', {
    config: text,
    percent: 50,
    for_seconds: forSeconds,
    min_samples: 30,
    max_p95_ratio: 10,
  });
  let isOver = false;
  const sending = traffic(() => isOver);
  try {
    const ended = await waitUntil(async () => (await current())['status'] !== 'running', { timeoutMs: 25_000 });
    assert.ok(ended, JSON.stringify(await current()));
    const overAt = Date.now();
    await new Promise((done) => setTimeout(done, 2000));
    return { begun, overAt, last: await current(), seen: await ((isOver = true), sending) };
  } finally {
    isOver = true;
    await sending;
  }
}

test('a configuration that fails is rolled back by itself, within ten seconds', { timeout: 60_000 }, async (t) => {
  const { last, overAt, seen } = await rollOut(candidate('c', upstreams[2].url), 600);
  assert.equal(last['status'], 'rolled_back', JSON.stringify(last));
  assert.match(String(last['reason']), /^more errors: 100 %/);
  const failed = seen.filter(({ status }) => status !== 200);
  const first = Math.min(...failed.map(({ endedAt }) => endedAt));
  assert.ok(overAt - first < 10_000, `${overAt - first} ms`);
  t.diagnostic(`rolled back ${overAt - first} ms after the first failure, ${failed.length} requests failed`);
  // Every worker has heard of it within a second.
  assert.deepEqual(
    failed.filter(({ sentAt }) => sentAt > overAt + 1000),
    [],
  );
  const part = new Set(failed.map(({ subject }) => subject)).size / SUBJECTS;
  assert.ok(part > 0.15 && part < 0.85, `${part} of the subjects`);
});

test('a good one serves its subjects, the same ones at every worker, and then all', { timeout: 60_000 }, async () => {
  const { begun, last, overAt, seen } = await rollOut(candidate('d', upstreams[1].url), 5);
  assert.equal(last['status'], 'promoted', JSON.stringify(last));
  assert.deepEqual(
    seen.filter(({ status }) => status !== 200),
    [],
  );
  const startAt = Date.parse(String(begun['started_at']));
  const tried = seen.filter(({ sentAt, endedAt }) => sentAt > startAt + 1000 && endedAt < overAt - 1500);
  const sides = new Map<number, Set<string>>();
  for (const { subject, backend } of tried) sides.set(subject, (sides.get(subject) ?? new Set()).add(backend));
  assert.deepEqual(
    [...sides.values()].filter((backends) => backends.size !== 1),
    [],
  );
  assert.deepEqual([...new Set([...sides.values()].flatMap((backends) => [...backends]))].toSorted(), ['a', 'd']);
  assert.deepEqual(
    [...new Set(seen.filter(({ sentAt }) => sentAt > overAt + 1000).map(({ backend }) => backend))],
    ['d'],
  );
  const workers = new Set(
    gateway.log().flatMap((line) => (line['msg'] === 'request' ? [parseRequestId(String(line['id']))?.worker] : [])),
  );
  assert.ok(workers.size === 2 || workers.size === 0, 'both workers served');
  const metrics = await (await fetch(`${gateway.ops}/metrics`)).text();
  assert.match(metrics, /tokenlat_rollouts_total\{status="rolled_back"\} 1/);
  assert.match(metrics, /tokenlat_rollouts_total\{status="promoted"\} 1/);
  const audit = (await admin('GET', '/admin/audit?kind=system')) as { data: { facts: Json }[] };
  const actions = audit.data.map(({ facts }) => facts['action']);
  assert.ok(actions.includes('rollout.promoted') && actions.includes('rollout.rolled_back'), actions.join());
});

test('stages are decided at run time, for every worker, and only forward', { timeout: 30_000 }, async () => {
  const send = clients[0] as Send;
  const at = '/admin/deployments/s%40b';
  const backends = async (): Promise<string> => {
    const replies = await Promise.all(Array.from({ length: 12 }, () => send(question('s'))));
    return [...new Set(replies.map(({ headers }) => headers.get('x-tokenlat-backend')))].join();
  };
  const becomes = async (change: Json, backend: string): Promise<void> => {
    await admin('PATCH', at, change, '*');
    assert.ok(await waitUntil(async () => (await backends()) === backend, { timeoutMs: 15_000 }), await backends());
  };
  assert.equal(await backends(), 'a');
  await becomes({ percent: 100 }, 'b');
  await becomes({ stage: 'retired' }, 'a');
  await assert.rejects(admin('PATCH', at, { stage: 'full' }, '*'), /it may become gray/i);
  const explained = (await admin('GET', '/admin/explain?tenant=acme&model=s')) as { candidates: Json[] };
  assert.deepEqual(
    explained.candidates.map(({ deployment, reason }) => `${String(deployment)} ${String(reason)}`),
    ['s@a explicit', 's@b stage'],
  );
});
