import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { StoreUnavailable } from '../../src/core/ports/quota-store.ts';
import { createRedisStores } from '../../src/store/redis/redis-stores.ts';
import { startRedis } from '../support/redis-server.ts';
import { DAY, event, freshTenant, line, operation, recorder } from './quota-harness.ts';
import { LEDGER } from './redis-harness.ts';

test('follows a failover that sentinel makes (P16)', async (t) => {
  const master = await startRedis();
  t.after(() => master.stop());
  const masterPort = new URL(master.url).port;
  const replica = await startRedis({
    args: ['--replicaof', '127.0.0.1', masterPort, '--repl-diskless-sync-delay', '0'],
  });
  t.after(() => replica.stop());
  const sentinel = await startRedis({
    config: [
      `sentinel monitor quota 127.0.0.1 ${masterPort} 1`,
      'sentinel down-after-milliseconds quota 300',
      'sentinel failover-timeout quota 1000',
    ].join('\n'),
    args: ['--sentinel'],
  });
  t.after(() => sentinel.stop());

  const recorded = recorder();
  const stores = createRedisStores({
    redis: {
      url: 'redis://127.0.0.1',
      sentinel: { name: 'quota', nodes: [{ host: '127.0.0.1', port: Number(new URL(sentinel.url).port) }] },
      cluster: null,
      commandTimeoutMs: 300,
      keyPrefix: 'tl:',
    },
    ledger: LEDGER,
    log: recorded.log,
    metrics: recorded.metrics,
  });
  t.after(() => stores.close());
  assert.ok(await stores.ready(5000));

  const tenant = freshTenant();
  const lines = [line('tokens', DAY, 1000)];
  const admit = (id = operation()) =>
    stores.quota.admit({
      operation: id,
      tenant,
      lines,
      amounts: { requests: 1, tokens: 10 },
      leaseMs: 30_000,
      onExpiry: event(id, 10),
    });
  const id = operation();
  await admit(id);
  const raw = new Redis(master.url);
  raw.on('error', () => {});
  t.after(() => raw.disconnect());
  for (let i = 0; i < 400 && (await raw.wait(1, 100)) < 1; i += 1) await sleep(25);
  const sentinelClient = new Redis(sentinel.url);
  t.after(() => sentinelClient.disconnect());
  const replicas = async (): Promise<number> =>
    ((await sentinelClient.call('SENTINEL', 'REPLICAS', 'quota')) as []).length;
  for (let i = 0; i < 800 && (await replicas()) < 1; i += 1) await sleep(25);

  await master.kill();
  let held = false;
  for (let i = 0; i < 800 && !held; i += 1) {
    try {
      held = (await admit()).kind === 'held';
    } catch (error) {
      assert.ok(error instanceof StoreUnavailable, String(error));
      await sleep(25);
    }
  }
  assert.ok(held, 'admitted on the new master');
  const actual = { requests: 1, tokens: 4 };
  assert.equal(await stores.quota.settle({ operation: id, tenant, actual, events: [event(id, 4)] }), 'settled');
  assert.equal((await stores.quota.peek(tenant, lines))[0]!.remaining, 1000 - 10 - 4);
  assert.deepEqual(recorded.states, ['down', 'up', 'down', 'up']);
});
