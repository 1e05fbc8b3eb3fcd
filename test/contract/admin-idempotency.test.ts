import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { IdempotencyStore } from '../../src/core/ports/idempotency-store.ts';
import { createMemoryIdempotencyStore } from '../../src/store/memory/idempotency-store.ts';
import { connectRedis } from '../../src/store/redis/connection.ts';
import { createRedisIdempotencyStore } from '../../src/store/redis/idempotency-store.ts';
import { createStoreBreaker } from '../../src/store/redis/store-breaker.ts';
import { startRedis } from '../support/redis-server.ts';
import { recorder } from './quota-harness.ts';

const ANSWER = { status: 201, headers: { etag: '"1"' }, body: { id: 'key_1', tags: { ü: ['"', null] } } };

interface Opened {
  readonly store: IdempotencyStore;
  /** Lets `ms` pass. */
  readonly pass: (ms: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

function openMemory(): Opened {
  let now = 0;
  const store = createMemoryIdempotencyStore({ clock: { time: () => now } });
  const pass = async (ms: number): Promise<void> => {
    now += ms;
  };
  return { store, pass, close: async () => {} };
}

async function openRedis(): Promise<Opened> {
  const server = await startRedis();
  const redis = { url: server.url, sentinel: null, cluster: null, commandTimeoutMs: 2000, keyPrefix: 'tl:' };
  const client = connectRedis({ redis, onError: () => {} });
  const { log, metrics } = recorder();
  const breaker = createStoreBreaker({
    probe: () => client.set('tl:probe', '1', 'PX', 1000),
    reconnect: () => client.disconnect(true),
    deadlineMs: 2000,
    log,
    metrics,
  });
  client.on('ready', () => breaker.hint());
  assert.ok(await breaker.ready(5000));
  return {
    store: createRedisIdempotencyStore({ client, keyPrefix: 'tl:', call: breaker.call }),
    pass: (ms) =>
      new Promise((resolve) => {
        setTimeout(resolve, ms);
      }),
    close: async () => {
      breaker.close();
      client.disconnect();
      await server.stop();
    },
  };
}

for (const [name, open] of [
  ['memory', openMemory],
  ['redis', openRedis],
] as const) {
  const opened = Promise.resolve(open());
  after(async () => (await opened).close());

  test(`${name}: a key is done once, and answered again as it was`, async () => {
    const { store } = await opened;
    const request = { key: 'done once', fingerprint: 'f', leaseMs: 5000 };
    assert.equal((await store.begin(request)).kind, 'new');
    assert.deepEqual(await store.begin(request), { kind: 'running' });
    assert.deepEqual(await store.begin({ ...request, fingerprint: 'g' }), { kind: 'other' });
    await store.finish({ key: request.key, fingerprint: 'f', answer: ANSWER, keepMs: 5000 });
    assert.deepEqual(await store.begin(request), { kind: 'done', answer: ANSWER });
    assert.deepEqual(await store.begin({ ...request, fingerprint: 'g' }), { kind: 'other' });
    assert.equal((await store.begin({ ...request, key: 'another' })).kind, 'new');
  });

  test(`${name}: of many at once one begins`, async () => {
    const { store } = await opened;
    const request = { key: 'raced', fingerprint: 'f', leaseMs: 5000 };
    const verdicts = await Promise.all(Array.from({ length: 20 }, () => store.begin(request)));
    assert.equal(verdicts.filter(({ kind }) => kind === 'new').length, 1);
    assert.equal(verdicts.filter(({ kind }) => kind === 'running').length, 19);
  });

  test(`${name}: a claim that is given back is free, and only its owner can give it back`, async () => {
    const { store } = await opened;
    const request = { key: 'released', fingerprint: 'f', leaseMs: 5000 };
    const first = await store.begin(request);
    assert.ok(first.kind === 'new');
    await store.release({ key: request.key, claim: first.claim });
    const second = await store.begin({ ...request, fingerprint: 'g' });
    assert.ok(second.kind === 'new');
    await store.release({ key: request.key, claim: first.claim });
    assert.deepEqual(await store.begin({ ...request, fingerprint: 'g' }), { kind: 'running' });
    await store.finish({ key: request.key, fingerprint: 'g', answer: ANSWER, keepMs: 5000 });
    await store.release({ key: request.key, claim: second.claim });
    assert.equal((await store.begin({ ...request, fingerprint: 'g' })).kind, 'done');
  });

  test(`${name}: claims and answers end with their time`, async () => {
    const { store, pass } = await opened;
    const request = { key: 'short', fingerprint: 'f', leaseMs: 60 };
    assert.equal((await store.begin(request)).kind, 'new');
    await pass(120);
    assert.equal((await store.begin(request)).kind, 'new');
    await store.finish({ key: request.key, fingerprint: 'f', answer: ANSWER, keepMs: 60 });
    await pass(120);
    assert.equal((await store.begin(request)).kind, 'new');
  });
}

test('memory: the oldest keys go when there are too many', async () => {
  const store = createMemoryIdempotencyStore({ clock: { time: () => 0 }, max: 2 });
  for (const key of ['a', 'b', 'c']) await store.begin({ key, fingerprint: 'f', leaseMs: 1 });
  assert.equal((await store.begin({ key: 'c', fingerprint: 'f', leaseMs: 1 })).kind, 'running');
  assert.equal((await store.begin({ key: 'a', fingerprint: 'f', leaseMs: 1 })).kind, 'new');
});
