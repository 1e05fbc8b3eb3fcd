/** Models that servers load when asked go where they are loaded, on real Envoy: cold starts fall, load goes first, lists are read. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createModelShelf } from '../../bench/sim/engine/model-shelf.ts';
import { waitUntil } from '../../src/app/wait-until.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { type MockUpstream, startMockUpstream } from '../support/mock-upstream.ts';
import { chatClient, type Send } from './chat-client.ts';
import { wholeAnswer } from './openai-answers.ts';

const SERVERS = ['a', 'b', 'c', 'd'];
const PLAYED = Array.from({ length: 12 }, (_, at) => `adapter-${at}`);
/** Nobody has asked the gateway for it: what it was asked for lately counts as loaded, whatever a server's list says. */
const UNASKED = 'adapter-unasked';
const MODELS = [...PLAYED, UNASKED];
/** Models that each server has loaded at once: all together have one place for each model, and a third more. */
const ROOM = 4;
const LOAD_MS = 120;
const ANSWER_MS = 20;

/** A server with room for a few models, whose list tells which these are. */
interface Engine {
  readonly mock: MockUpstream;
  readonly loads: string[];
  served: number;
  readonly reset: () => void;
}

let engines: readonly Engine[];
let gateway: TestGateway;
let send: Send;

async function startEngine(): Promise<Engine> {
  const mock = await startMockUpstream({ healthPath: null });
  let shelf = createModelShelf({ room: ROOM, loadMs: LOAD_MS });
  const engine = {
    mock,
    loads: [] as string[],
    served: 0,
    reset() {
      shelf = createModelShelf({ room: ROOM, loadMs: LOAD_MS });
      engine.loads.length = 0;
      engine.served = 0;
    },
  };
  mock.respondWith(async ({ method, json }) => {
    if (method === 'GET') {
      const data = MODELS.filter((_, at) => shelf.has(at)).map((id) => ({ id: `up-${id}` }));
      return { status: 200, headers: { 'content-type': 'application/json' }, chunks: [JSON.stringify({ data })] };
    }
    const { model } = json as { readonly model: string };
    const number = MODELS.findIndex((name) => model === `up-${name}`);
    const { isLoad, readyAt } = shelf.use(number, performance.now());
    if (isLoad) engine.loads.push(model);
    engine.served += 1;
    await sleep(Math.max(0, readyAt - performance.now()) + ANSWER_MS);
    return wholeAnswer(3);
  });
  return engine;
}

const configOf = (affinity: 'none' | 'model', health: object = {}) => ({
  backends: SERVERS.map((name, at) => ({
    name,
    endpoints: [{ url: `${engines[at]?.mock.url}/v1` }],
    loads: { most: ROOM },
    ...health,
  })),
  models: MODELS.map((name) => ({
    name,
    balance: 'load',
    affinity,
    deployments: SERVERS.map((backend) => ({ backend, model: `up-${name}` })),
  })),
  breakers: { enabled: true },
});

before(async () => {
  engines = await Promise.all(SERVERS.map(startEngine));
  gateway = await startGateway({ config: configOf('none') });
  send = chatClient(gateway, await gateway.token());
});
after(async () => {
  try {
    await gateway.stop();
  } finally {
    await Promise.all(engines.map(({ mock }) => mock.close()));
  }
});

/** Models in an order that has no sense to it, some at once; says which share of the requests had to wait for a load. */
async function play(requests: number, atOnce: number): Promise<{ readonly cold: number; readonly spread: number }> {
  for (const engine of engines) engine.reset();
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < requests) {
      const model = PLAYED[(next * 7 + Math.floor(next / 12) * 5) % PLAYED.length] ?? '';
      next += 1;
      const reply = await send({ model, messages: [{ role: 'user', content: 'x' }] });
      assert.equal(reply.status, 200, reply.text);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, client));
  const loads = engines.reduce((sum, engine) => sum + engine.loads.length, 0);
  const most = Math.max(...engines.map(({ served }) => served));
  return { cold: loads / requests, spread: most / (requests / SERVERS.length) };
}

const series = async (text: string): Promise<number> => {
  const lines = (await (await fetch(`${gateway.ops}/metrics`)).text()).split('\n');
  return Number(
    lines
      .find((line) => line.startsWith(text))
      ?.split(' ')
      .at(-1) ?? 0,
  );
};

async function reconfigure(config: object): Promise<void> {
  const before = gateway.log().filter(({ msg }) => msg === 'configuration reloaded').length;
  gateway.reconfigure(config as Parameters<TestGateway['reconfigure']>[0]);
  await waitUntil(async () => gateway.log().filter(({ msg }) => msg === 'configuration reloaded').length > before, {
    timeoutMs: 5000,
  });
}

test('cold starts fall when requests go where their model is loaded, and no server gets all', async () => {
  const without = await play(120, 6);
  await reconfigure(configOf('model'));
  const withIt = await play(120, 6);
  console.log(`cold: ${JSON.stringify(without)} without, ${JSON.stringify(withIt)} with affinity`);
  // Each model must be loaded once: a tenth of the requests.
  assert.ok(withIt.cold <= 0.2, `${withIt.cold}`);
  assert.ok(withIt.cold <= without.cold / 2, `${withIt.cold} of ${without.cold}`);
  assert.ok(withIt.spread <= 2, `${withIt.spread}`);
  const cold = await Promise.all(
    MODELS.map((model) => series(`tokenlat_model_tries_total{model="${model}",state="cold"}`)),
  );
  const warm = await Promise.all(
    MODELS.map((model) => series(`tokenlat_model_tries_total{model="${model}",state="warm"}`)),
  );
  const sum = (all: readonly number[]): number => all.reduce((one, other) => one + other, 0);
  assert.equal(sum(cold) + sum(warm), 120);
  assert.ok(sum(cold) >= withIt.cold * 120 && sum(cold) <= 0.35 * 120, `${sum(cold)} told as cold`);
});

test('under load of one model others serve it, too', async () => {
  for (const engine of engines) engine.reset();
  const replies = await Promise.all(
    Array.from({ length: 32 }, async (_, at) => {
      await sleep(at * 2);
      return send({ model: 'adapter-0', messages: [{ role: 'user', content: 'x' }] });
    }),
  );
  assert.ok(replies.every(({ status }) => status === 200));
  const counts = engines.map(({ served }) => served);
  console.log(`32 at once: ${counts.join(' ')}`);
  // 1.5 times a fair share of 8, and 2, and the one that may come then, and what ended in between.
  assert.ok(Math.max(...counts) <= 20, counts.join(' '));
});

test("a server's own list says what is loaded, whoever asked for it", async () => {
  await reconfigure(configOf('model', { health: { models: { interval: '500ms', timeout: '400ms' } } }));
  for (const engine of engines) engine.reset();
  // Somebody else has it loaded there, past the gateway.
  const elsewhere = engines[2] ?? assert.fail();
  await fetch(`${elsewhere.mock.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: `up-${UNASKED}`, messages: [] }),
  });
  const says = async (model: string): Promise<string> => {
    const { headers } = await send({ model, messages: [{ role: 'user', content: 'x' }] });
    return `${headers.get('x-tokenlat-backend')} ${headers.get('x-route-reason')}`;
  };
  const looks = (): number => elsewhere.mock.requests.filter(({ method }) => method === 'GET').length;
  const before = looks();
  assert.ok(await waitUntil(async () => looks() >= before + 2, { timeoutMs: 15_000 }));
  assert.equal(await says(UNASKED), 'c warm');
});
