import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeaderList, type RequestHead, type ResponseHead } from '../core/http.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { createOpenAiClient } from '../dialects/openai/dialect.ts';
import { createEngine } from '../routing/engine.ts';
import { seededRandom } from '../lib/hash32/seeded-random.ts';
import { config as configOf, deployment, model } from '../stations/route/route-kit.test.ts';
import { createPoolPicker } from './pool-picker.ts';
import { TokenCount } from './token-count.ts';

const HEAD: RequestHead = {
  method: 'POST',
  path: '/v1/chat/completions',
  headers: new HeaderList([['content-type', 'application/json']]),
};
const answer = (status: number, headers: readonly (readonly [string, string])[] = []): ResponseHead => ({
  status,
  headers: new HeaderList(headers),
});
const question = (extra: object = {}): Buffer =>
  Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }], ...extra }));

interface RigOptions {
  readonly endpoints?: number;
  readonly limit?: number;
  readonly whenAllOpen?: 'serve' | 'refuse';
  readonly affinity?: 'none' | 'session';
}

function rig({ endpoints = 3, limit, whenAllOpen = 'serve', affinity = 'none' }: RigOptions = {}) {
  const addresses = Array.from({ length: endpoints }, (_, at) => `10.0.0.${at}:80`);
  const on = (name: string) => {
    const made = deployment(name, 'gpu', {
      concurrency: limit === undefined ? null : { limit, perInstance: null },
    });
    return { ...made, backend: pool };
  };
  const plain = deployment('m', 'gpu').backend;
  const pool = {
    ...plain,
    pool: { slowStartMs: 0 },
    endpoints: addresses.map((_, at) => ({ host: `10.0.0.${at}`, port: 80, weight: 1 })),
  };
  const models = ['m', 'other'].map((name) => model(name, 'gpu', { deployments: [on(name)], affinity }));
  const base = configOf(models, []);
  const snapshot = {
    ...base,
    breakers: { ...base.breakers, whenAllOpen },
    timeouts: { maxRequestMs: 1000 },
    limits: { bodyBytes: 1e6, jsonDepth: 64, jsonKeys: 1000 },
  } as unknown as Snapshot;
  const clock = { at: 0, now: () => clock.at, time: () => clock.at };
  const engine = createEngine({ random: seededRandom(1) });
  const outcomes: string[] = [];
  const picker = createPoolPicker({
    config: () => snapshot,
    backend: 'gpu',
    engine,
    clock,
    client: createOpenAiClient(),
    count: (outcome) => outcomes.push(outcome),
  });
  const running = (): number => [...engine.board.load().values()].reduce((sum, count) => sum + count, 0);
  const ask = (subset: readonly string[] | null = null, body: Buffer | null = question(), head = HEAD) => {
    const exchange = picker.factory(head, subset === null ? null : new Set(subset));
    const picked = exchange.pick(body);
    return {
      ...exchange,
      list: picked.kind === 'picked' ? picked.addresses : [],
      status: picked.kind === 'refused' ? picked.response.status : 200,
      headers: picked.kind === 'refused' ? picked.response.headers : [],
    };
  };
  return { addresses, engine, clock, outcomes, picker, running, ask };
}

test('picks spread by what they have themselves under way, and end with their answers', () => {
  const { addresses, ask, running } = rig();
  const all = Array.from({ length: 30 }, () => ask());
  for (const address of addresses) assert.equal(all.filter(({ list }) => list[0] === address).length, 10);
  assert.equal(running(), 30);
  for (const [at, one] of all.entries()) {
    if (at % 3 !== 0) one.onResponseHead(answer(200), one.list[0] ?? null, true);
    if (at % 3 === 1) one.onResponseEnd();
    one.close();
  }
  assert.equal(running(), 0);
});

test('by the body the deployment is known, and a body that is none does no harm', () => {
  const { engine, ask } = rig();
  ask(null, question({ model: 'other' }));
  ask(null, Buffer.from('{'));
  ask(null, null);
  const names = [...engine.board.load().keys()].map((name) => name.split('@')[0]);
  assert.deepEqual(new Set(names), new Set(['m', 'other']));
});

test('a subset is a border', () => {
  const { addresses, ask } = rig();
  const [a = '', , c = ''] = addresses;
  for (let each = 0; each < 10; each += 1) assert.deepEqual([...ask([a, c, '1.1.1.1:1']).list].toSorted(), [a, c]);
  for (const none of [[], ['1.1.1.1:1']]) assert.equal(ask(none).status, 503);
});

test('full is 429, gone is 503', () => {
  const { addresses, ask, engine, outcomes, picker } = rig({ limit: 3 });
  const held = Array.from({ length: 3 }, () => ask());
  assert.equal(new Set(held.map(({ list }) => list[0])).size, 3);
  const shed = ask();
  assert.deepEqual([shed.status, shed.headers.find(([name]) => name === 'retry-after')?.[1]], [429, '1']);
  held[0]?.close();
  assert.equal(ask().status, 200);
  for (const address of addresses)
    engine.findings.set(`m@gpu/${address}`, 'network', {
      factor: 0,
      reason: 'network_unreachable',
      detail: '',
      until: 1e9,
    });
  assert.equal(picker.isReady(), false);
  assert.equal(ask().status, 503);
  assert.deepEqual(outcomes.slice(-3), ['shed', 'picked', 'no_endpoint']);
});

test('who answered in the end tells who failed before', () => {
  const { ask, engine, outcomes, clock } = rig();
  const one = ask();
  const [first = '', second = '', third = ''] = one.list;
  one.onResponseHead(answer(200), third, true);
  one.onResponseBody(Buffer.from('x'));
  one.onResponseEnd();
  one.close();
  assert.deepEqual(outcomes, ['picked', 'moved']);
  const health = (address: string) => engine.board.healthOf(`m@gpu/${address}`, clock.at);
  const errors = [first, second, third].map((address) => health(address) < 1);
  assert.deepEqual(errors, [true, true, false]);
});

test('an answer that is an error says so of who gave it: 5xx ill, 429 full, 4xx nothing', () => {
  for (const [status, ill] of [
    [500, true],
    [404, false],
  ] as const) {
    const { ask, engine } = rig();
    const one = ask();
    one.onResponseHead(answer(status), one.list[0] ?? null, true);
    assert.equal(engine.board.healthOf(`m@gpu/${one.list[0]}`, 1) < 1, ill, String(status));
  }
  const { addresses, ask } = rig({ endpoints: 1 });
  const busy = ask();
  busy.onResponseHead(answer(429, [['retry-after', '7']]), addresses[0] ?? null, true);
  const next = ask();
  assert.deepEqual([next.status, next.headers.find(([name]) => name === 'retry-after')?.[1]], [429, '7']);
});

test('when breakers hold all back, the configuration says whether anybody serves', () => {
  for (const [whenAllOpen, status] of [
    ['serve', 200],
    ['refuse', 503],
  ] as const) {
    const { ask } = rig({ whenAllOpen });
    for (let each = 0; each < 60; each += 1) {
      const one = ask();
      one.onResponseHead(answer(500), one.list[0] ?? null, true);
      one.close();
    }
    assert.equal(ask().status, status);
  }
});

test('a session stays where it was', () => {
  const { ask } = rig({ affinity: 'session' });
  const head = { ...HEAD, headers: new HeaderList([['x-session-id', 's']]) };
  const [home] = ask(null, question(), head).list;
  for (let each = 0; each < 3; each += 1) {
    const one = ask(null, question(), head);
    assert.equal(one.list[0], home);
    one.onResponseHead(answer(200), home ?? null, true);
    one.onResponseEnd();
  }
});

test('tokens are told by the usage, else by the events', () => {
  const count = (...chunks: readonly string[]): number => {
    const tokens = new TokenCount();
    for (const chunk of chunks) tokens.add(Buffer.from(chunk));
    return tokens.count();
  };
  assert.equal(count('data: {}\n\ndata: {}\n\n', 'data: [DONE]\n\n'), 3);
  assert.equal(count(`{"text":"${'x'.repeat(9000)}",`, '"usage":{"completion_to', 'kens": 42}}'), 42);
  assert.equal(count('hello'), 0);
});
