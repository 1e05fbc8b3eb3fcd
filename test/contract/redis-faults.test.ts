import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { StoreUnavailable } from '../../src/core/ports/quota-store.ts';
import { inTime } from '../support/in-time.ts';
import { startRedis } from '../support/redis-server.ts';
import type { RedisServer } from '../support/redis-server.ts';
import { DAY, SLIDING_MINUTE, event, freshTenant, line, operation, recorder } from './quota-harness.ts';
import { openStores } from './redis-harness.ts';
import type { Stores } from '../../src/store/stores.ts';

const LINES = [line('requests', SLIDING_MINUTE, 1_000_000), line('tokens', DAY, 1_000_000_000)];

function admission(tenant: string, id = operation()) {
  return {
    operation: id,
    tenant,
    lines: LINES,
    amounts: { requests: 1, tokens: 10 },
    leaseMs: 30_000,
    onExpiry: event(id, 10),
  };
}

const settlement = (tenant: string, id: ReturnType<typeof operation>, tokens = 10) => ({
  operation: id,
  tenant,
  actual: { requests: 1, tokens },
  events: [event(id, tokens)],
});

async function until(what: string, ms: number, done: () => boolean | Promise<boolean>): Promise<number> {
  const start = performance.now();
  while (!(await done())) {
    assert.ok(performance.now() - start < ms, `${what} within ${ms} ms`);
    await sleep(5);
  }
  return performance.now() - start;
}

const tokensUsed = async (stores: Stores, tenant: string): Promise<number> =>
  LINES[1]!.limit - (await stores.quota.peek(tenant, LINES))[1]!.remaining;

describe('killed with an append-only file (P13)', () => {
  test('what was acknowledged is there after SIGKILL, and a repeated call adds nothing', async () => {
    const server = await startRedis({ appendonly: true });
    const stores = await openStores(server.url, { commandTimeoutMs: 500 });
    try {
      assert.deepEqual(await stores.durability(), {
        durability: 'aof-everysec',
        version: (await stores.durability()).version,
        warnings: [],
      });
      const tenant = freshTenant();
      const [acked, settled] = [new Set<ReturnType<typeof operation>>(), new Set<ReturnType<typeof operation>>()];
      for (let round = 0; round < 3; round += 1) {
        const stop = new AbortController();
        const worker = async (): Promise<void> => {
          while (!stop.signal.aborted) {
            const id = operation();
            try {
              await stores.quota.admit(admission(tenant, id));
              acked.add(id);
              if (acked.size % 2 === 0) {
                await stores.quota.settle(settlement(tenant, id, 7));
                settled.add(id);
              }
            } catch (error) {
              assert.ok(error instanceof StoreUnavailable, String(error));
              await sleep(1);
            }
          }
        };
        const workers = Array.from({ length: 8 }, worker);
        await sleep(150 + round * 60);
        await server.kill();
        await sleep(50);
        stop.abort();
        await Promise.all(workers);
        await server.restart();
        await until('back', 2000, () => stores.state() === 'up');
        assert.equal(await stores.flush(15_000), 0);
        for (const id of acked) if (!settled.has(id)) await stores.quota.admit(admission(tenant, id));
        for (const id of settled) assert.equal(await stores.quota.settle(settlement(tenant, id)), 'repeated');
      }
      assert.ok(acked.size > 100, `${acked.size} calls`);
      // Admissions whose answer was lost may have run: at most the eight in flight of each round.
      const used = await tokensUsed(stores, tenant);
      const known = (acked.size - settled.size) * 10 + settled.size * 7;
      assert.ok(used >= known && used <= known + 3 * 8 * 10, `${used} used, ${known} known`);
      const entries = await stores.ledger.read(tenant, null, 100_000);
      assert.deepEqual(new Set(entries.map((entry) => entry.event.operation)), settled);
      assert.equal(entries.length, settled.size);
    } finally {
      await stores.close();
      await server.stop();
    }
  });
});

describe('silent or gone (P15)', () => {
  let server: RedisServer;
  before(async () => {
    server = await startRedis();
  });
  after(() => server.stop());

  for (const [how, down, up] of [
    ['SIGSTOP', async () => server.pause(), async () => server.resume()],
    ['SIGKILL', async () => server.kill(), () => server.restart()],
  ] as const) {
    test(`${how}: keeps the deadline, then answers at once, and is back within two seconds`, async () => {
      const recorded = recorder();
      const stores = await openStores(server.url, { commandTimeoutMs: 80, recorded });
      const tenant = freshTenant();
      try {
        const held = admission(tenant);
        await stores.quota.admit(held);
        await down();
        const refused = async (): Promise<number> => {
          const start = performance.now();
          await assert.rejects(stores.quota.admit(admission(tenant)), StoreUnavailable);
          return performance.now() - start;
        };
        const first: number[] = [];
        while (first.length < 5) first.push(await refused());
        // The middle one: a machine that stands still for a moment makes some late.
        assert.ok(first.toSorted((a, b) => a - b)[2]! < 80 + 50, `calls took ${first.join(' ')} ms`);
        assert.equal(stores.state(), 'down');
        await inTime(async () => {
          const waits: number[] = [];
          while (waits.length < 300) {
            waits.push(await refused());
            if (waits.length % 10 === 1) await sleep(10);
          }
          // The slowest hundredth.
          return waits.toSorted((a, b) => a - b)[296]! - 25;
        });
        assert.equal(await stores.quota.settle(settlement(tenant, held.operation, 4)), 'settled');
        await sleep(1300);
        await up();
        const back = await until('back', 2000, async () => {
          try {
            return (await stores.quota.admit(admission(tenant))).kind === 'held';
          } catch {
            return false;
          }
        });
        assert.ok(back < 2000, `${back} ms`);
        assert.equal(await stores.flush(1000), 0);
        const entries = await stores.ledger.read(tenant, null, 10);
        assert.deepEqual(
          entries.map((entry) => entry.event.promptTokens),
          [4],
        );
        assert.deepEqual(recorded.states, ['down', 'up', 'down', 'up']);
        assert.deepEqual(recorded.lines, ['info store is up', 'warn store is down', 'info store is up']);
        assert.deepEqual(recorded.anomalies, ['settlement_spooled']);
      } finally {
        await stores.close();
      }
    });
  }

  test('without a server the stores start, say so once, and never throw out of turn', async () => {
    const recorded = recorder();
    const gone = 'redis://127.0.0.1:1';
    await assert.rejects(openGone(gone), /did not come up/);
    async function openGone(url: string): Promise<void> {
      await openStores(url, { recorded, readyMs: 700 });
    }
    assert.deepEqual(recorded.states, ['down']);
    assert.equal(recorded.lines.length, 1);
    assert.match(String(recorded.lines[0]), /^warn Redis does not answer at redis:\/\/127\.0\.0\.1:1 \(ECONNREFUSED\)/);
  });
});

describe('keys and scripts (P16)', () => {
  let server: RedisServer;
  let raw: Redis;
  before(async () => {
    server = await startRedis();
    raw = new Redis(server.url);
  });
  after(async () => {
    raw.disconnect();
    await server.stop();
  });

  test('works on after SCRIPT FLUSH, and every key has a TTL', async (t) => {
    const stores = await openStores(server.url);
    t.after(() => stores.close());
    const tenant = freshTenant();
    const windows = [
      line('tokens', SLIDING_MINUTE, 100),
      line('tokens', { kind: 'sliding', seconds: 3600 }, 100),
      line('tokens', DAY, 100),
      line('tokens', { kind: 'calendar', unit: 'month' }, 100),
    ];
    const admit = (tokens: number, leaseMs: number, id = operation()) =>
      stores.quota.admit({
        operation: id,
        tenant,
        lines: windows,
        amounts: { requests: 1, tokens },
        leaseMs,
        onExpiry: event(id, tokens),
      });
    const [a, b, c] = [operation(), operation(), operation()];
    for (const work of [
      () => admit(30, 30_000, a),
      () => admit(20, 30_000, b),
      () => admit(10, 1, c),
      () => admit(90, 30_000),
      () => stores.quota.settle(settlement(tenant, a, 35)),
      () => stores.quota.settle(settlement(tenant, b, 0)),
      () => stores.quota.renew(tenant, operation(), 30_000),
      () => stores.quota.settle(settlement(tenant, operation(), 5)),
      () => stores.quota.peek(tenant, windows),
      () => stores.quota.sweep(),
      () => stores.quota.settle(settlement(tenant, c, 2)),
      async () => stores.traces.put('shown', '{"a":1}', 1000),
    ]) {
      await raw.script('FLUSH');
      await sleep(3);
      await work();
    }
    await until('trace', 1000, async () => (await stores.traces.get('shown')).length === 1);
    const keys = (await raw.keys('*')).filter((key) => !key.endsWith(':probe'));
    assert.ok(keys.length >= 12, keys.join(' '));
    for (const key of keys) {
      assert.ok((await raw.pttl(key)) > 0, `${key} has a TTL`);
      assert.match(key, /^tl:(\{[^{}]+\}:|trace:)/);
    }
  });

  for (const [what, off, on] of [
    ['a server that became a replica', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']],
    ['a server without memory', ['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0']],
  ] as const) {
    test(`${what} counts as down until it takes writes again`, async (t) => {
      const recorded = recorder();
      const stores = await openStores(server.url, { recorded });
      t.after(() => stores.close());
      t.after(() => raw.call(on[0], ...on.slice(1)));
      const tenant = freshTenant();
      await stores.quota.admit(admission(tenant));
      await raw.call(off[0], ...off.slice(1));
      for (let i = 0; i < 8; i += 1) await assert.rejects(stores.quota.admit(admission(tenant)), StoreUnavailable);
      assert.equal(stores.state(), 'down');
      await raw.call(on[0], ...on.slice(1));
      await until('back', 2000, () => stores.state() === 'up');
      assert.equal((await stores.quota.admit(admission(tenant))).kind, 'held');
      assert.equal(await tokensUsed(stores, tenant), 20);
      assert.deepEqual(recorded.lines, ['info store is up', 'warn store is down', 'info store is up']);
    });
  }

  test('commands that a user may not run are told from an outage', async (t) => {
    await raw.call('ACL', 'SETUSER', 'limited', 'on', '>pw', '~tl:*', '+@all', '-config', '-xadd');
    const recorded = recorder();
    const stores = await openStores(server.url.replace('//', '//limited:pw@'), { recorded });
    t.after(() => stores.close());
    const report = await stores.durability();
    assert.equal(report.durability, 'none');
    assert.match(report.warnings[0] ?? '', /append-only/);
    const tenant = freshTenant();
    const id = operation();
    await stores.quota.admit(admission(tenant, id));
    assert.equal(await stores.quota.settle(settlement(tenant, id)), 'settled');
    // Refused, not away: it is tried a few times and then handed to a person, and the breaker stays closed.
    await until('given up', 3000, () => recorded.anomalies.includes('settlement_lost'));
    assert.equal(stores.state(), 'up');
    assert.ok(recorded.lines.includes('error settlement lost'));
  });
});
