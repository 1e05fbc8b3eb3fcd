import assert from 'node:assert/strict';
import net, { type AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { Log } from '../../core/ports/telemetry.ts';
import { silentLog, silentMetrics } from '../../telemetry/silent.ts';
import { redisPlace } from './redis-place.ts';
import { createRedisStores } from './redis-stores.ts';

const ALONE = { sentinel: null, cluster: null };
const NODES = [
  { host: 'a', port: 1 },
  { host: 'b', port: 2 },
];

test('the place of a Redis tells no credentials', () => {
  assert.equal(redisPlace({ ...ALONE, url: 'redis://me:hunter2@host:6390/1' }), 'redis://***@host:6390/1');
  assert.equal(redisPlace({ ...ALONE, url: 'redis://host:6390' }), 'redis://host:6390');
  assert.equal(redisPlace({ ...ALONE, url: 'redis://:hunter2@x', cluster: NODES }), 'a:1, b:2');
  assert.equal(redisPlace({ ...ALONE, url: 'redis://:hunter2@x', sentinel: { name: 'm', nodes: NODES } }), 'a:1, b:2');
});

async function freePort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test('a Redis that does not answer at the start is told once, with where and why', async () => {
  const url = `redis://:hunter2@127.0.0.1:${await freePort()}`;
  const lines: string[] = [];
  const log: Log = { ...silentLog, warn: (message) => void lines.push(message) };
  const stores = createRedisStores({
    redis: { ...ALONE, url, commandTimeoutMs: 100, keyPrefix: 'tl:' },
    ledger: { leaseMs: 60_000, maxEvents: 10, keepMs: 60_000 },
    log,
    metrics: silentMetrics,
  });
  assert.equal(await stores.ready(300), false);
  await stores.close();
  assert.equal(await stores.ready(300), false);
  assert.equal(lines.length, 1);
  assert.match(
    lines[0] ?? '',
    /^Redis does not answer at redis:\/\/\*\*\*@127\.0\.0\.1:\d+ \(ECONNREFUSED\): until it does, on_store_error of the ledger and of each route holds \(deny unless set\)$/,
  );
});
