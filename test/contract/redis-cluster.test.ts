import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { createRedisStores } from '../../src/store/redis/redis-stores.ts';
import type { Stores } from '../../src/store/stores.ts';
import { startRedis } from '../support/redis-server.ts';
import type { RedisServer } from '../support/redis-server.ts';
import { DAY, SLIDING_MINUTE, event, freshTenant, line, operation, recorder } from './quota-harness.ts';
import { LEDGER } from './redis-harness.ts';

const SLOTS = 16_384;

/** Three masters that share the slots. */
async function startCluster(): Promise<{ readonly servers: RedisServer[]; readonly nodes: Redis[] }> {
  const args = ['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf'];
  const servers = await Promise.all([0, 1, 2].map(() => startRedis({ args })));
  const nodes = servers.map(({ url }) => new Redis(url));
  for (const [i, node] of nodes.entries()) {
    const slots = Array.from({ length: SLOTS }, (_, slot) => slot).filter(
      (slot) => Math.floor((slot * 3) / SLOTS) === i,
    );
    await node.cluster('ADDSLOTS', ...slots);
    await node.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
  }
  for (const { url } of servers.slice(1)) await nodes[0]!.call('CLUSTER', 'MEET', '127.0.0.1', new URL(url).port);
  for (let tries = 0; tries < 400; tries += 1) {
    const infos = await Promise.all(nodes.map((node) => node.cluster('INFO')));
    if (infos.every((info) => info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:3'))) break;
    await sleep(25);
  }
  return { servers, nodes };
}

describe('three nodes (P16)', () => {
  let cluster: Awaited<ReturnType<typeof startCluster>>;
  let stores: Stores;
  const recorded = recorder();
  before(async () => {
    cluster = await startCluster();
    const ports = cluster.servers.map(({ url }) => Number(new URL(url).port));
    stores = createRedisStores({
      redis: {
        url: 'redis://127.0.0.1',
        sentinel: null,
        cluster: ports.map((port) => ({ host: '127.0.0.1', port })),
        commandTimeoutMs: 2000,
        keyPrefix: 'tl:',
      },
      ledger: LEDGER,
      log: recorded.log,
      metrics: recorded.metrics,
    });
    assert.ok(await stores.ready(5000));
  });
  after(async () => {
    await stores.close();
    for (const node of cluster.nodes) node.disconnect();
    for (const server of cluster.servers) await server.stop();
  });

  const lines = [line('requests', SLIDING_MINUTE, 100), line('tokens', DAY, 1000, 'subject:{x}')];
  const admit = (tenant: string, id: ReturnType<typeof operation>, leaseMs = 30_000) =>
    stores.quota.admit({
      operation: id,
      tenant,
      lines,
      amounts: { requests: 1, tokens: 10 },
      leaseMs,
      onExpiry: event(id, 10),
    });

  test('every script of every tenant runs on the node of its slot', async () => {
    const tenants = Array.from({ length: 60 }, freshTenant);
    for (const tenant of tenants) {
      const [id, lost] = [operation(), operation()];
      assert.equal((await admit(tenant, id)).kind, 'held');
      assert.equal((await admit(tenant, lost, 1)).kind, 'held');
      assert.equal(await stores.quota.renew(tenant, id, 30_000), true);
      assert.equal((await stores.quota.peek(tenant, lines))[1]!.remaining, 980);
      const settlement = { operation: id, tenant, actual: { requests: 1, tokens: 4 }, events: [event(id, 4)] };
      assert.equal(await stores.quota.settle(settlement), 'settled');
      assert.equal(await stores.quota.settle(settlement), 'repeated');
    }
    await sleep(5);
    assert.equal(await stores.quota.sweep(), tenants.length);
    assert.equal(await stores.ledger.open(), 0);
    assert.deepEqual(new Set(await stores.ledger.tenants()), new Set(tenants));
    for (const tenant of tenants) assert.equal((await stores.ledger.read(tenant, null, 9)).length, 2);
    const sizes = await Promise.all(cluster.nodes.map((node) => node.dbsize()));
    assert.ok(
      sizes.every((size) => size > 50),
      `keys lie on all nodes: ${sizes.join(', ')}`,
    );
    assert.equal((await stores.durability()).durability, 'none');
    assert.deepEqual(recorded.lines, ['info store is up']);
  });

  test('sums and the directory keep to their slots, and messages cross nodes', async () => {
    const tenants = Array.from({ length: 12 }, freshTenant);
    const time = Date.now();
    const open = [
      line('requests', { kind: 'concurrent' }, 1),
      line('spend', { ...DAY, zone: 'Asia/Tokyo' } as never, 9),
    ];
    for (const tenant of tenants) {
      const id = operation();
      const request = {
        tenant,
        lines: open,
        amounts: { requests: 1, tokens: 1, spend: 1 },
        leaseMs: 1,
        onExpiry: null,
      };
      assert.equal((await stores.quota.admit({ ...request, operation: operation() })).kind, 'held');
      await sleep(3);
      // The place of a lease that is over is free without a sweep.
      assert.equal((await stores.quota.admit({ ...request, operation: id, leaseMs: 30_000 })).kind, 'held');
      const events = [event(id, 4, { time, businessLine: 'cluster' })];
      await stores.quota.settle({ operation: id, tenant, actual: { requests: 1, tokens: 4 }, events });
      assert.deepEqual(await stores.spend.verify(tenant), []);
    }
    const from = Math.floor(time / 3_600_000) * 3_600_000;
    const rows = await stores.spend.spend({ tenant: null, unit: 'hour', by: ['business_line'], from, to: time + 1 });
    assert.equal(rows.find(({ keys }) => keys.business_line === 'cluster')?.cost, tenants.length * 8);
    const heard: string[] = [];
    const watching = stores.directory.watch((change) => heard.push(change === 'all' ? change : change.id));
    await sleep(400);
    for (const tenant of tenants) {
      const fields = { name: tenant, tier: 'x', limits: [], subjectLimits: [] };
      assert.equal((await stores.directory.put('tenant', tenant, fields, 0)).kind, 'written');
    }
    for (let tries = 0; tries < 200 && heard.at(-1) !== tenants.at(-1); tries += 1) await sleep(5);
    watching.close();
    assert.deepEqual(
      heard.filter((id) => id !== 'all'),
      tenants,
    );
    assert.equal((await stores.directory.list('tenant', { after: null, count: 100 })).length, tenants.length);
  });

  test('shares of all rates come in one call', async () => {
    const wishes = Array.from({ length: 60 }, freshTenant).map((name) => ({ name, rate: 10, demand: 5, held: 0 }));
    const shares = await stores.rateShares?.renew('worker', wishes);
    assert.equal(shares?.length, wishes.length);
    await stores.rateShares?.leave(
      'worker',
      wishes.map(({ name }) => name),
    );
  });

  test('a slot that moves to another node is followed', async () => {
    const tenant = freshTenant();
    const id = operation();
    await admit(tenant, id);
    const owners = await Promise.all(
      cluster.nodes.map(async (node) => (await node.keys('*')).find((key) => key.endsWith(id))),
    );
    const from = owners.findIndex((key) => key !== undefined);
    const [source, target] = [cluster.nodes[from]!, cluster.nodes[(from + 1) % 3]!];
    const slot = await source.cluster('KEYSLOT', owners[from]!);
    const [sourceId, targetId] = [await source.call('CLUSTER', 'MYID'), await target.call('CLUSTER', 'MYID')];
    await target.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', String(sourceId));
    await source.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', String(targetId));
    const keys = await source.cluster('GETKEYSINSLOT', slot, 100);
    const port = new URL(cluster.servers[(from + 1) % 3]!.url).port;
    await source.call('MIGRATE', '127.0.0.1', port, '', '0', '1000', 'KEYS', ...keys);
    for (const node of [target, source]) await node.call('CLUSTER', 'SETSLOT', slot, 'NODE', String(targetId));
    const settlement = { operation: id, tenant, actual: { requests: 1, tokens: 4 }, events: [event(id, 4)] };
    assert.equal(await stores.quota.settle(settlement), 'settled');
    assert.equal((await stores.quota.peek(tenant, lines))[1]!.remaining, 996);
    assert.equal(
      (await target.keys('*')).some((key) => key.endsWith(id)),
      true,
    );
  });
});
