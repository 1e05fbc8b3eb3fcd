/** Workers of two servers share one Redis: one looks for all, all know, another one goes on, and each for itself without Redis. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDialects } from '../../src/app/dialects.ts';
import { openRouting, type Routing } from '../../src/app/open-routing.ts';
import { systemClock } from '../../src/core/ports/clock.ts';
import type { Snapshot } from '../../src/core/snapshot.ts';
import { backend, configOf, PACED, probesOf, silentLog } from '../../src/control/probes/probe-kit.test.ts';
import { incarnationOf } from '../../src/stations/route/targets.ts';
import type { Stores } from '../../src/store/stores.ts';
import { silentMetrics } from '../../src/telemetry/silent.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { openStores } from './redis-harness.ts';

const NAMES = ['one', 'two', 'three'] as const;
type Name = (typeof NAMES)[number];

interface Server {
  readonly stores: Stores;
  readonly routing: Routing;
  /** As if its process had been killed: no more is heard of it, and it lets go of nothing. */
  readonly die: () => Promise<void>;
  readonly close: () => Promise<void>;
}

let status = 200;
const looks: number[] = [];
const upstream = http.createServer((_, response) => {
  looks.push(performance.now());
  response.writeHead(status).end();
});
const servers = new Map<Name, Server>();
let redis: RedisServer;
let config: Snapshot;

const knows = (name: Name): string | null => {
  const [deployment] = config.models.get('m')?.deployments ?? [];
  assert.ok(deployment);
  return servers.get(name)?.routing.engine.findings.out(incarnationOf({ deployment }), systemClock.now()) ?? null;
};

async function open(name: Name): Promise<Server> {
  const stores = await openStores(redis.url);
  let isDead = false;
  const lease: Stores['lease'] = {
    hold: (...args) => (isDead ? Promise.resolve(false) : stores.lease.hold(...args)),
    release: (...args) => (isDead ? Promise.resolve() : stores.lease.release(...args)),
  };
  const live: Pick<Stores['live'], 'publish' | 'leave'> = {
    publish: (...args) => (isDead ? Promise.resolve() : stores.live.publish(...args)),
    leave: (...args) => (isDead ? Promise.resolve() : stores.live.leave(...args)),
  };
  const routing = openRouting({
    config: () => config,
    stores: { live: { ...stores.live, ...live }, quota: stores.quota, lease },
    replica: name,
    worker: 0,
    holder: name,
    log: silentLog,
    metrics: silentMetrics,
    figures: { rows: () => [] },
    probeFigures: { looked: () => {}, forget: () => {}, factor: () => {} },
    dialects: createDialects({ templates: null }),
    clock: systemClock,
  });
  routing.tell(
    () => 0,
    () => [],
  );
  const close = async (): Promise<void> => {
    await routing.close();
    await stores.close();
  };
  return { stores, routing, close, die: async () => ((isDead = true), close()) };
}

async function within(ms: number, holds: () => boolean): Promise<number> {
  const started = performance.now();
  while (!holds() && performance.now() - started < ms) await sleep(10);
  assert.ok(holds(), `not within ${ms} ms`);
  return performance.now() - started;
}

before(async () => {
  redis = await startRedis();
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const { port } = upstream.address() as AddressInfo;
  const service = { ...PACED, intervalMs: 500, timeoutMs: 300, path: '/health' };
  const on = backend('b', probesOf({ service }), { endpoints: [{ host: '127.0.0.1', port, weight: 1 }] });
  config = {
    ...configOf(on),
    breakers: { enabled: false, slow: {} },
    server: { workers: 1 },
    surge: null,
  } as unknown as Snapshot;
  for (const name of NAMES) servers.set(name, await open(name));
});

after(async () => {
  for (const server of servers.values()) await server.close();
  await redis.stop();
  upstream.close();
});

test('one looks, and what it finds all know within two seconds', async () => {
  await within(3000, () => looks.length > 0);
  const from = looks.length;
  await sleep(3000);
  const count = looks.length - from;
  assert.ok(count >= 4 && count <= 8, `${count} looks in 3 s, at 0.5 s`);
  status = 500;
  await within(3 * 600 + 300, () => NAMES.some((name) => knows(name) === 'service_down'));
  await within(2000, () => NAMES.every((name) => knows(name) === 'service_down'));
  status = 200;
  await within(2 * 600 + 300 + 2000, () => NAMES.every((name) => knows(name) === null));
});

test('who looks dies: another one goes on within three seconds, and nobody forgets in between', async () => {
  status = 500;
  await within(3 * 600 + 300 + 2000, () => NAMES.every((name) => knows(name) === 'service_down'));
  const words = await servers.get('one')?.stores.live.read();
  const leader = words?.find(({ routing }) => routing?.probes !== undefined)?.replica as Name;
  assert.ok(NAMES.includes(leader));
  const left = NAMES.filter((name) => name !== leader);
  await servers.get(leader)?.die();
  servers.delete(leader);
  const died = looks.at(-1) ?? 0;
  const watched = (async () => {
    for (let turn = 0; turn < 350; turn += 1) {
      for (const name of left) assert.equal(knows(name), 'service_down', `${name} after ${turn * 20} ms`);
      await sleep(20);
    }
  })();
  await within(3000 + 600, () => (looks.at(-1) ?? 0) > died);
  await watched;
  status = 200;
  await within(2 * 600 + 300 + 2000, () => left.every((name) => knows(name) === null));
});

test('without Redis each looks for itself', async () => {
  await redis.kill();
  status = 500;
  const left = [...servers.keys()];
  await within(9000, () => left.every((name) => knows(name) === 'service_down'));
  await redis.restart();
  status = 200;
  await within(9000, () => left.every((name) => knows(name) === null));
  await sleep(2000);
  const from = looks.length;
  await sleep(3000);
  assert.ok(looks.length - from <= 8, 'one of them again');
});
