import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { LimitLine } from '../../src/core/limit.ts';
import { DAY, SLIDING_MINUTE, TestClock, freshTenant, line, operation } from './quota-harness.ts';
import { openRedisHarness, openStores, scriptsWithClock } from './redis-harness.ts';
import type { RedisHarness } from './redis-harness.ts';

const NOON = Date.UTC(2028, 1, 29, 12, 0, 0);
const BERLIN = { kind: 'calendar', unit: 'day', zone: 'Europe/Berlin' } as const;

describe('periods of a zone in Redis', () => {
  let harness: RedisHarness;
  before(async () => {
    harness = await openRedisHarness();
  });
  after(() => harness.close());

  const admission = (tenant: string, lines: readonly LimitLine[]) => ({
    operation: operation(),
    tenant,
    lines,
    amounts: { requests: 1, tokens: 10, spend: 5 },
    leaseMs: 30_000,
    onExpiry: null,
  });
  const calls = async (): Promise<number> => {
    const stats = await harness.raw.info('commandstats');
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  };

  test('the time of Redis decides, however wrong the clock of the caller is', async (t) => {
    const clock = new TestClock();
    const stores = await openStores(harness.server.url, { clock, sources: scriptsWithClock() });
    t.after(() => stores.close());
    const lines = [line('tokens', BERLIN, 100)];
    for (const off of [0, 20 * 3_600_000, -20 * 3_600_000, 40 * 86_400_000, -400 * 86_400_000]) {
      await harness.setTime(NOON);
      clock.ms = NOON + off;
      const tenant = freshTenant();
      const held = await stores.quota.admit(admission(tenant, lines));
      assert.deepEqual([held.kind, held.limits[0]!.resetMs], ['held', 11 * 3_600_000], `off by ${off}`);
      assert.equal((await harness.clients[0].quota.peek(tenant, lines))[0]!.remaining, 90);
      // Learned: one call from now on, also for reading.
      const before = await calls();
      await stores.quota.admit(admission(tenant, lines));
      assert.equal((await stores.quota.peek(tenant, lines))[0]!.remaining, 80);
      assert.equal((await calls()) - before, 2);
    }
  });

  test('an admission is one call, whatever its lines', async () => {
    await harness.setTime(NOON);
    const tenant = freshTenant();
    const lines = [
      line('tokens', BERLIN, 20),
      line('spend', DAY, 1000),
      line('requests', { kind: 'concurrent' }, 10),
      line('requests', SLIDING_MINUTE, 10, 'key:k'),
    ];
    await harness.clients[0].quota.admit(admission(tenant, lines));
    const before = await calls();
    assert.equal((await harness.clients[0].quota.admit(admission(tenant, lines))).kind, 'held');
    assert.equal((await harness.clients[0].quota.admit(admission(tenant, lines))).kind, 'denied');
    assert.equal((await calls()) - before, 2);
  });
});
