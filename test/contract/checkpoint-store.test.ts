import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFolderCheckpointStore } from '../../src/audit/folder-checkpoint-store.ts';
import type { CheckpointStore } from '../../src/core/ports/audit.ts';
import { createRedisCheckpointStore } from '../../src/store/redis/checkpoint-store.ts';
import { startRedis } from '../support/redis-server.ts';

const A = 'node-0-20260101T000000000Z';
const B = 'node-1-20260101T000000000Z';

async function contract(store: CheckpointStore): Promise<void> {
  assert.deepEqual(await store.chains(), []);
  assert.deepEqual(await store.list(A), []);
  for (const text of ['{"n":1}', '{"n":2}', '{"n":2}']) await store.append(A, text);
  await store.append(B, '{"b":"é"}');
  assert.deepEqual(await store.list(A), ['{"n":1}', '{"n":2}', '{"n":2}']);
  assert.deepEqual(await store.list(B), ['{"b":"é"}']);
  assert.deepEqual(await store.chains(), [A, B]);
}

async function trims(store: CheckpointStore, filler: string, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await store.append(A, `{"n":${n},"filler":"${filler}"}`);
  const kept = await store.list(A);
  assert.ok(kept.length >= 1000 && kept.length < count, String(kept.length));
  assert.ok(kept.at(-1)?.startsWith(`{"n":${count - 1},`));
}

test('a folder', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'tokenlat-checkpoints-'));
  const store = createFolderCheckpointStore({ dir });
  await contract(store);
  appendFileSync(join(dir, `${A}.checkpoints`), '{"torn":');
  assert.deepEqual((await store.list(A)).length, 3);
  await store.append(A, '{"n":3}');
  assert.deepEqual((await store.list(A)).slice(3), ['{"n":3}']);
  assert.match(readFileSync(join(dir, `${A}.checkpoints`), 'utf8'), /\{"torn":\n/);
  await assert.rejects(store.append('../x', '{}'), RangeError);
  await trims(store, 'x'.repeat(3500), 1400);
  rmSync(dir, { recursive: true });
});

test('Redis, also while it is away', async () => {
  const server = await startRedis();
  const redis = { url: server.url, sentinel: null, cluster: null, commandTimeoutMs: 500, keyPrefix: 'tl:' };
  const store = createRedisCheckpointStore({ redis, onError: () => {} });
  await contract(store);
  await trims(store, '', 1200);
  await server.kill();
  await assert.rejects(store.append(A, '{}'));
  await server.restart();
  for (let tries = 0; ; tries += 1) {
    const done = await store.append(B, '{"again":true}').then(
      () => true,
      () => false,
    );
    if (done) break;
    assert.ok(tries < 200);
    await sleep(20);
  }
  assert.equal((await store.list(B)).at(-1), '{"again":true}');
  server.pause();
  await assert.rejects(store.append(A, '{}'), /did not answer/);
  server.resume();
  await store.close();
  await server.stop();
});
