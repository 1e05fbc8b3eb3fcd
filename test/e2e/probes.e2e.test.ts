/** The gateway's own looks at backends, through real Envoy and Redis: two workers, one of whom looks for both. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { dcgm } from '../../src/control/probes/probe-kit.test.ts';
import { waitUntil } from '../../src/app/wait-until.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { type MockUpstream, startMockUpstream } from '../support/mock-upstream.ts';
import { chatClient, question, type Reply, type Send } from './chat-client.ts';
import { wholeAnswer } from './openai-answers.ts';

const INTERVAL_MS = 500;
/** Three looks with their jitter, the last one's answer, and the way to the other worker. */
const NOTICED_MS = 3 * INTERVAL_MS * 1.2 + 300 + 2000;
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'] as const;
type Name = (typeof NAMES)[number];

const mocks = new Map<Name, MockUpstream>();
const healthy = new Set<Name>(NAMES);
const celsius = { c: 40, d: 40 };
let exporterDown = false;
let waiting = 0;
let figures: http.Server;
let gateway: TestGateway;
let send: Send;

const mock = (name: Name): MockUpstream => mocks.get(name) ?? assert.fail();
/** Chats of clients alone: probes of the model say something else. */
const chats = (name: Name): number =>
  mock(name).requests.filter(({ method, json }) => method === 'POST' && !JSON.stringify(json).includes('Say ok.'))
    .length;

before(async () => {
  for (const name of NAMES) {
    const made = await startMockUpstream({ healthPath: null });
    made.respondWith(({ method }) =>
      method === 'GET' ? { status: healthy.has(name) ? 200 : 500, chunks: ['{}'] } : wholeAnswer(),
    );
    mocks.set(name, made);
  }
  figures = http.createServer(({ url }, response) => {
    if (exporterDown) response.writeHead(503).end();
    else if (url === '/load') response.end(`vllm:num_requests_running 3\nvllm:num_requests_waiting ${waiting}\n`);
    else response.end(dcgm({ celsius: celsius.c }, { celsius: celsius.d }));
  });
  figures.listen(0, '127.0.0.1');
  await once(figures, 'listening');
  const { port } = figures.address() as AddressInfo;
  const paced = { interval: '500ms', timeout: '300ms' };
  const gpu = (at: number) => ({
    gpu: { url: `http://127.0.0.1:${port}/gpus`, ...paced, stale: '3s', labels: { gpu: String(at) } },
  });
  const health: Readonly<Record<Name, object>> = {
    a: { service: paced },
    b: {},
    c: gpu(0),
    d: gpu(1),
    e: { network: paced, model: { interval: '5s', timeout: '1s' } },
    f: { metrics: { url: `http://127.0.0.1:${port}/load`, ...paced } },
  };
  const price = { currency: 'USD', prompt_per_mtok: 1_000_000, completion_per_mtok: 1_000_000 };
  const model = (name: string, ...on: readonly Name[]) => ({
    name,
    deployments: on.map((backend) => ({ backend, price })),
  });
  gateway = await startGateway({
    workers: 2,
    config: {
      // What probes find, and not what requests tell.
      breakers: { enabled: false },
      backends: NAMES.map((name) => ({
        name,
        endpoints: [{ url: `${mock(name).url}/v1` }],
        health: health[name],
      })),
      models: [model('served', 'a', 'b'), model('hot', 'c', 'd'), model('paid', 'e', 'b'), model('queued', 'f')],
    },
  });
  send = chatClient(gateway, await gateway.token());
});

after(async () => {
  await gateway?.stop();
  figures?.close();
  for (const each of mocks.values()) await each.close();
});

/** So many answers; requests go to both workers by turns of chance. */
async function ask(model: string, count = 24): Promise<readonly Reply[]> {
  const replies: Reply[] = [];
  for (let at = 0; at < count; at += 1) replies.push(await send(question(model)));
  assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200]);
  return replies;
}

/** Does nobody of both workers send anything to `name`? */
async function getsNone(name: Name, model: string): Promise<boolean> {
  const before = chats(name);
  await ask(model);
  return chats(name) === before;
}

async function within(ms: number, holds: () => Promise<boolean>): Promise<number> {
  const started = performance.now();
  await waitUntil(holds, { timeoutMs: ms });
  assert.ok(await holds(), `not within ${ms} ms`);
  return performance.now() - started;
}

test('a backend whose /health says 500 gets no new requests within three looks, and returns', async () => {
  await ask('served', 2);
  assert.equal(chats('b'), 0);
  healthy.delete('a');
  await within(NOTICED_MS, () => getsNone('a', 'served'));
  const [reply] = await ask('served', 1);
  assert.equal(reply?.headers.get('x-fallback-reason'), 'service_down');
  healthy.add('a');
  await within(NOTICED_MS, () => getsNone('b', 'served'));
  const said = gateway
    .log()
    .filter(({ deployment, msg }) => deployment === 'served@a' && /well again|nothing more/.test(String(msg)));
  assert.deepEqual(
    said.map(({ msg }) => msg),
    ['a deployment gets nothing more', 'a deployment is well again'],
  );
});

test('one of all workers looks, at its pace', async () => {
  const { length } = mock('a').requests.filter(({ method }) => method === 'GET');
  const started = performance.now();
  await new Promise((resolve) => setTimeout(resolve, 5000));
  const looks = mock('a').requests.filter(({ method }) => method === 'GET').length - length;
  const usual = (performance.now() - started) / INTERVAL_MS;
  assert.ok(looks >= usual * 0.7 && looks <= usual * 1.3, `${looks} looks, ${usual} expected`);
});

test('a hot GPU gets nothing; of two hot ones one goes on', async () => {
  await ask('hot', 2);
  assert.ok(chats('c') > 0);
  celsius.c = 80;
  await within(NOTICED_MS, () => getsNone('c', 'hot'));
  assert.equal((await ask('hot', 1))[0]?.headers.get('x-fallback-reason'), 'overheated');
  celsius.d = 90;
  await new Promise((resolve) => setTimeout(resolve, NOTICED_MS));
  assert.ok(await getsNone('c', 'hot'), 'half of two is one, and it was out already');
  celsius.c = 72;
  await new Promise((resolve) => setTimeout(resolve, NOTICED_MS));
  assert.ok(await getsNone('c', 'hot'), 'not yet cool enough');
  celsius.c = 60;
  await within(NOTICED_MS, () => getsNone('d', 'hot'));
  celsius.d = 40;
});

test('an exporter that is away counts as nothing known, after a while', async (t) => {
  t.after(() => {
    celsius.c = 40;
    exporterDown = false;
  });
  celsius.c = 80;
  await within(NOTICED_MS, () => getsNone('c', 'hot'));
  exporterDown = true;
  assert.ok(await getsNone('c', 'hot'), 'the last figures still count');
  await within(3000 + NOTICED_MS, async () => !(await getsNone('c', 'hot')));
  // Its figures run out by themselves; the next look finds that they did.
  await within(2000, async () => {
    const metrics = await (await fetch(`${gateway.ops}/metrics`)).text();
    return /tokenlat_anomalies_total\{kind="probe_stale"\} [1-9]/.test(metrics);
  });
});

test("a probe of the model is the gateway's cost, and no tenant's", async () => {
  const events = await gateway.ledger('~gateway', 1);
  for (const { chargedTo, businessLine, requestType, model, backend, cost } of events)
    assert.deepEqual(
      [chargedTo, businessLine, requestType, model, backend, cost > 0],
      ['gateway', 'probe', 'probe', 'paid', 'e', true],
    );
  const acme = await gateway.ledger('acme', 1);
  assert.ok(acme.every(({ businessLine, chargedTo }) => businessLine !== 'probe' && chargedTo === 'tenant'));
  const metrics = await (await fetch(`${gateway.ops}/metrics`)).text();
  assert.match(
    metrics,
    /tokenlat_cost_micro_units_total\{model="paid",backend="e",currency="USD",charged_to="gateway"\} [1-9]/,
  );
});

test('nobody listens: out, with its reason and its figures', async () => {
  const reasons = async (): Promise<string> => {
    const replies = await ask('paid', 12);
    return [...new Set(replies.map(({ headers }) => headers.get('x-fallback-reason')))].join();
  };
  await mock('e').refuse();
  await within(NOTICED_MS + 1000, async () => (await reasons()) === 'network_unreachable');
  const metrics = await (await fetch(`${gateway.ops}/metrics`)).text();
  assert.match(metrics, /tokenlat_probe_up\{backend="e",kind="network"\} 0/);
  assert.match(metrics, /tokenlat_target_factor\{deployment="paid@e",source="network"\} 0/);
  assert.match(metrics, /tokenlat_probe_seconds_count\{backend="a",kind="service"\} [1-9]/);
  await mock('e').listen();
  await within(NOTICED_MS, async () => (await reasons()) === '');
});

test('a long queue there lowers its factor, and the only one serves on', async () => {
  waiting = 80;
  const factorOf = async (): Promise<string | undefined> =>
    /tokenlat_target_factor\{deployment="queued@f",source="metrics"\} (\S+)/.exec(
      await (await fetch(`${gateway.ops}/metrics`)).text(),
    )?.[1];
  await within(NOTICED_MS, async () => (await factorOf()) === '0.1');
  await ask('queued', 2);
  waiting = 0;
  await within(NOTICED_MS, async () => (await factorOf()) === '1');
});
