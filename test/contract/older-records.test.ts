import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { OperationId } from '../../src/core/ids.ts';
import { createKeys } from '../../src/store/redis/keys.ts';
import { DAY, SLIDING_MINUTE, event, freshTenant, line, operation } from './quota-harness.ts';
import { openRedisHarness } from './redis-harness.ts';
import type { RedisHarness } from './redis-harness.ts';

const NOON = Date.UTC(2028, 1, 29, 12, 0, 0);
const LEASE_MS = 30_000;
const LINES = [
  line('tokens', SLIDING_MINUTE, 100),
  line('spend', DAY, 100),
  line('requests', { kind: 'concurrent' }, 5),
  line('requests', DAY, 100, 'subject:ann'),
];

describe('records that an older version left in Redis', () => {
  let harness: RedisHarness;
  before(async () => {
    harness = await openRedisHarness();
    await harness.setTime(NOON);
  });
  after(() => harness.close());

  const keys = createKeys({ prefix: 'tl:' });
  const used = async (tenant: string): Promise<readonly number[]> =>
    (await harness.clients[0].quota.peek(tenant, LINES)).map(({ line: { limit }, remaining }) => limit - remaining);

  /** Admits, and writes the reservation down as words of lines that are joined by `;`. */
  async function admitAsBefore(tenant: string, charge: boolean): Promise<OperationId> {
    const id = operation();
    const onExpiry = charge ? event(id, 10) : null;
    await harness.clients[0].quota.admit({
      operation: id,
      tenant,
      lines: LINES,
      amounts: { requests: 1, tokens: 10, spend: 5 },
      leaseMs: LEASE_MS,
      onExpiry,
    });
    const key = keys.operation(tenant, id);
    const parts = String(await harness.raw.get(key)).split('\n');
    assert.equal(parts.length, 5);
    const words = JSON.parse(parts[2] ?? '') as readonly (string | number)[];
    const lines = LINES.map((_, at) => words.slice(at * 5, at * 5 + 5).join(' '));
    await harness.raw.set(key, parts.with(2, lines.join(';')).join('\n'), 'KEEPTTL');
    return id;
  }

  test('are settled', async () => {
    const tenant = freshTenant();
    const id = await admitAsBefore(tenant, true);
    assert.deepEqual(await used(tenant), [10, 5, 1, 1]);
    const actual = { requests: 1, tokens: 7, spend: 9 };
    const settle = (): Promise<unknown> =>
      harness.clients[1].quota.settle({ operation: id, tenant, actual, events: [event(id, 7)] });
    assert.deepEqual([await settle(), await settle()], ['settled', 'repeated']);
    assert.deepEqual(await used(tenant), [7, 9, 0, 1]);
  });

  test('are charged or released when their lease is over', async () => {
    for (const charge of [true, false]) {
      await harness.setTime(NOON);
      const tenant = freshTenant();
      await admitAsBefore(tenant, charge);
      await harness.setTime(NOON + LEASE_MS);
      assert.equal(await harness.clients[2].quota.sweep(), 1);
      assert.deepEqual(await used(tenant), charge ? [10, 5, 0, 1] : [0, 0, 0, 0]);
    }
  });
});
