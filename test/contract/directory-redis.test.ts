import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { StoreUnavailable } from '../../src/core/ports/quota-store.ts';
import { createKeyDirectory } from '../../src/store/key-directory.ts';
import { startRedis } from '../support/redis-server.ts';
import { freshHash, freshId, keyFields, testDirectoryStore, writtenOf } from './directory-store.contract.ts';
import { recorder } from './quota-harness.ts';
import { openRedisHarness, openStores } from './redis-harness.ts';

testDirectoryStore('redis', openRedisHarness);

async function waitFor(what: string, ms: number, done: () => boolean | Promise<boolean>): Promise<number> {
  const start = performance.now();
  while (!(await done())) {
    assert.ok(performance.now() - start < ms, `${what} within ${ms} ms`);
    await sleep(2);
  }
  return performance.now() - start;
}

async function open(t: TestContext) {
  const server = await startRedis();
  const raw = new Redis(server.url);
  const recorded = recorder();
  const [writer, watcher] = [
    await openStores(server.url, { commandTimeoutMs: 1000 }),
    await openStores(server.url, { commandTimeoutMs: 1000, recorded }),
  ];
  const heard: string[] = [];
  const watching = watcher.directory.watch((change) => heard.push(change === 'all' ? change : change.id));
  t.after(async () => {
    watching.close();
    raw.disconnect();
    await writer.close();
    await watcher.close();
    await server.stop();
  });
  await waitFor('subscribed', 10_000, async () => /cmdstat_subscribe/.test(await raw.info('commandstats')));
  await sleep(100);
  heard.length = 0;
  const put = async (id = freshId(), sha = freshHash(), version = 0): Promise<string> => {
    writtenOf(await writer.directory.put('key', id, keyFields(id, sha), version));
    return id;
  };
  return { server, raw, writer, watcher, heard, put, recorded };
}

describe('watching Redis', () => {
  test('messages are heard at once, and one by one', async (t) => {
    const { heard, put } = await open(t);
    const ids: string[] = [];
    const waits: number[] = [];
    for (let i = 0; i < 50; i += 1) {
      ids.push(await put());
      waits.push(await waitFor('message', 10_000, () => heard.length === ids.length));
    }
    assert.deepEqual(heard, ids);
    await sleep(700);
    assert.deepEqual(heard, ids, 'polls told nothing twice');
    waits.sort((a, b) => a - b);
    t.diagnostic(`a write is heard after ${waits[25]!.toFixed(1)} ms (median), ${waits[49]!.toFixed(1)} ms (most)`);
  });

  test('a write without a message is noticed within a second: all may have changed', async (t) => {
    const { raw, heard, put } = await open(t);
    // No channel may be published to, or heard.
    await raw.call('ACL', 'SETUSER', 'default', 'resetchannels');
    await waitFor('cut off', 10_000, () => heard.length > 0);
    const waits: number[] = [];
    for (let i = 0; i < 3; i += 1) {
      heard.length = 0;
      await put();
      waits.push(await waitFor('noticed', 10_000, () => heard.length > 0));
      assert.deepEqual(heard, ['all']);
    }
    // The middle one: a machine that stands still for a moment makes one late.
    assert.ok(waits.toSorted((a, b) => a - b)[1]! < 1000, `noticed after ${waits.join(' ')} ms`);
  });

  test('what was written while the connection was gone is noticed after it, and messages are heard again', async (t) => {
    const { raw, heard, put } = await open(t);
    await raw.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await put();
    const wait = await waitFor('noticed', 10_000, () => heard.includes('all'));
    t.diagnostic(`noticed after ${wait.toFixed(0)} ms`);
    await sleep(700);
    heard.length = 0;
    const id = await put();
    await waitFor('message', 10_000, () => heard.length > 0);
    assert.deepEqual(heard, [id]);
  });

  test('a server that comes back with older data, or another one, is noticed', async (t) => {
    const { server, writer, heard, put } = await open(t);
    for (let i = 0; i < 5; i += 1) await put();
    await server.kill();
    heard.length = 0;
    await server.restart();
    await waitFor('noticed', 10_000, () => heard.includes('all'));
    await waitFor('back', 10_000, () => writer.state() === 'up');
    await sleep(700);
    heard.length = 0;
    // Nothing was kept: as many writes as there were before must not look like the same ones.
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1) ids.push(await put());
    await waitFor('messages', 10_000, () => heard.length >= 5);
    assert.deepEqual(heard, ids);
  });

  test('closing ends the connection, and watching again opens one', async (t) => {
    const { raw, watcher } = await open(t);
    const connections = async () =>
      String(await raw.call('CLIENT', 'LIST', 'TYPE', 'pubsub'))
        .split('\n')
        .filter(Boolean).length;
    assert.equal(await connections(), 1);
    const extra = watcher.directory.watch(() => {});
    assert.equal(await connections(), 1);
    extra.close();
    await watcher.close();
    await waitFor('closed', 1000, async () => (await connections()) === 0);
  });
});

describe('keys from the directory of Redis', () => {
  test('a revoked key is refused within a second, with messages and without', async (t) => {
    const { raw, writer, watcher } = await open(t);
    const clock = { now: () => performance.now() };
    const keys = createKeyDirectory({ store: watcher.directory, clock, log: recorder().log });
    t.after(() => keys.close());
    await sleep(300);
    const revoke = async (): Promise<number> => {
      const [id, sha] = [freshId(), freshHash()];
      writtenOf(await writer.directory.put('key', id, keyFields(id, sha), 0));
      assert.equal((await keys.find(sha))?.revokedAt, null);
      const start = performance.now();
      writtenOf(await writer.directory.put('key', id, keyFields(id, sha, { revokedAt: 1 }), 1));
      await waitFor('revoked', 1000, async () => (await keys.find(sha))?.revokedAt === 1);
      return performance.now() - start;
    };
    const heard = await revoke();
    assert.ok(heard < 200, `${heard} ms`);
    await raw.call('ACL', 'SETUSER', 'default', 'resetchannels');
    const silent = await revoke();
    assert.ok(silent < 1000, `${silent} ms`);
    t.diagnostic(`refused ${heard.toFixed(1)} ms after the write, ${silent.toFixed(0)} ms without messages`);
  });

  test('without Redis known keys go on to open, and others are neither right nor wrong', async (t) => {
    const { server, watcher, heard, put, recorded } = await open(t);
    let ahead = 0;
    const clock = { now: () => performance.now() + ahead };
    const keys = createKeyDirectory({ store: watcher.directory, clock, log: recorded.log, staleMs: 60_000 });
    t.after(() => keys.close());
    const [sha, unknown] = [freshHash(), freshHash()];
    const id = await put(freshId(), sha);
    await waitFor('message', 10_000, () => heard.includes(id));
    assert.equal((await keys.find(sha))?.id, id);
    assert.equal(await keys.find(unknown), null);
    await server.kill();
    await waitFor('down', 2000, () => watcher.state() === 'down');
    ahead = 30_000;
    assert.equal((await keys.find(sha))?.id, id);
    await assert.rejects(async () => keys.find(unknown), StoreUnavailable);
    ahead = 61_000;
    await assert.rejects(async () => keys.find(sha), StoreUnavailable);
    assert.equal(recorded.lines.filter((text) => text.includes('served from memory')).length, 1);
    // It comes back empty: the key is unknown to it.
    await server.restart();
    await waitFor('up', 3000, () => watcher.state() === 'up');
    assert.equal(await keys.find(sha), null);
  });
});
