import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { waitUntil } from '../../src/app/wait-until.ts';
import type { LimitRule } from '../../src/core/directory.ts';
import { createRedisStores } from '../../src/store/redis/redis-stores.ts';
import { readScripts } from '../../src/store/redis/script-runner.ts';
import { silentLog, silentMetrics } from '../../src/telemetry/silent.ts';
import { chatClient, question } from './chat-client.ts';
import { wholeAnswer } from './openai-answers.ts';
import { monitorRedis } from '../support/redis-monitor.ts';
import { useGateway } from '../support/use-gateway.ts';

const SECRET = 'sk-tl-a-key-with-limits-of-its-own';
const MOST = 1_000_000_000;
const ALL = Object.fromEntries([
  ...['requests', 'tokens', 'spend'].flatMap((unit) =>
    ['minute', 'day', 'month'].map((span) => [`${unit}_per_${span}`, MOST]),
  ),
  ['concurrent_requests', MOST],
]);
const RULES: readonly LimitRule[] = (['requests', 'tokens', 'spend'] as const).flatMap((unit) =>
  [
    { kind: 'sliding', seconds: 60 } as const,
    { kind: 'calendar', unit: 'day' } as const,
    { kind: 'calendar', unit: 'month' } as const,
  ].map((window) => ({ unit, window, limit: MOST, model: null })),
);
/** Ten kinds on four levels, and those of the key. */
const LINES = 40 + RULES.length;
const names = new Map(
  Object.entries(readScripts()).map(([name, text]) => [createHash('sha1').update(text).digest('hex'), name]),
);

const limits = { limits: ALL, subject_limits: ALL, line_limits: { x: ALL }, model_limits: { chat: ALL } };
const { gateway, upstream } = await useGateway({
  config: ([upstream]) => ({
    backends: [{ name: 'a', endpoints: [{ url: `${upstream.url}/v1` }] }],
    models: [{ name: 'chat', deployments: [{ backend: 'a', price: { prompt_per_mtok: 1, completion_per_mtok: 2 } }] }],
    tenants: [{ name: 'acme', business_line: 'x', ...limits }],
  }),
});
upstream.respondWith(wholeAnswer());
const socket = join(gateway.dir, 'redis', 'redis.sock');
const stores = createRedisStores({
  redis: { url: `unix://${socket}`, sentinel: null, cluster: null, commandTimeoutMs: 2000, keyPrefix: 'tl:' },
  ledger: { leaseMs: 60_000, keepMs: 60_000, maxEvents: 1000, zone: 'UTC' },
  log: silentLog,
  metrics: silentMetrics,
});
await stores.ready(5000);
after(() => stores.close());
const key = {
  id: 'key_1',
  name: 'k',
  sha256: createHash('sha256').update(SECRET).digest('hex'),
  hint: 'sk-tl-a',
  tenant: 'acme',
  subject: 'ann',
  businessLine: 'x',
  models: ['*'],
  scopes: [],
  tags: {},
  limits: RULES,
  expiresAt: null,
  revokedAt: null,
  previous: null,
};
await stores.directory.put('key', key.id, key, 0);

async function untilSettled(): Promise<void> {
  assert.ok(await waitUntil(async () => (await stores.ledger.open()) === 0, { timeoutMs: 15_000 }), 'all is settled');
}

/** What clients of Redis sent while `work` ran, by the name of the script or command, with the keys. */
async function commandsOf(work: () => Promise<void>): Promise<readonly (readonly [name: string, text: string])[]> {
  const seen: (readonly [string, string])[] = [];
  const stop = await monitorRedis(socket, ({ name, args }) => {
    const [hash = ''] = args;
    seen.push([name === 'evalsha' ? (names.get(hash) ?? hash) : name, args.join(' ')]);
  });
  await work();
  await untilSettled();
  stop();
  return seen;
}

test(`with ${LINES} limits at five levels a request asks Redis once to be admitted and once to be settled`, async () => {
  const send = chatClient(gateway, SECRET);
  const first = await send(question('chat'));
  assert.equal(first.status, 200, first.text);
  // A script goes to Redis as a text the first time.
  await untilSettled();
  const requests = 20;
  const seen = await commandsOf(async () => {
    for (let n = 0; n < requests; n += 1) assert.equal((await send(question('chat'))).status, 200);
  });
  const ofTenant = seen.filter(([, text]) => text.includes('tl:{acme}'));
  const counts: Record<string, number> = {};
  for (const [name] of ofTenant) counts[name] = (counts[name] ?? 0) + 1;
  // The tests' own look at what is open.
  delete counts['zcard'];
  assert.deepEqual(counts, { admit: requests, settle: requests });
  for (const [name, text] of ofTenant) {
    // A script's first argument is the number of its keys: the operation, the leases, and a counter a limit.
    if (name === 'admit') assert.equal(Number(text.split(' ')[1]), 2 + LINES);
  }
  const others = new Set(seen.filter(([, text]) => !text.includes('tl:{acme}')).map(([name]) => name));
  for (const name of ['peek', 'expire', 'renew']) assert.ok(!others.has(name), name);
});
