import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY, event, freshTenant, line, operation } from './quota-harness.ts';
import { openRedisHarness } from './redis-harness.ts';
import { testSpendReader } from './spend-reader.contract.ts';

testSpendReader('redis', openRedisHarness);

const NOON = Date.UTC(2028, 1, 29, 12);

test('a sum that was tampered with, or an event that was, is found', async (t) => {
  const harness = await openRedisHarness();
  t.after(() => harness.close());
  await harness.setTime(NOON);
  const [stores] = harness.clients;
  const tenant = freshTenant();
  const id = operation();
  const settlement = {
    operation: id,
    tenant,
    actual: { requests: 1, tokens: 4 },
    events: [event(id, 4, { time: NOON })],
  };
  await stores.quota.settle(settlement);
  assert.deepEqual(await stores.spend.verify(tenant), []);
  const key = (await harness.raw.keys('*:s:h:*'))[0]!;
  const [row] = await harness.raw.hkeys(key);
  await harness.raw.hset(key, row!, '1 4 0 0 9');
  const [difference, ...others] = await stores.spend.verify(tenant);
  assert.deepEqual([difference?.stored?.cost, difference?.events?.cost, others.length], [9, 8, 0]);
  await harness.raw.del(key);
  assert.equal((await stores.spend.verify(tenant))[0]?.stored, null);
  await harness.raw.hset(key.replace(/\d+$/, String(NOON / 1000 - 7200)), row!, '1 4 0 0 9');
  assert.equal((await stores.spend.verify(tenant))[0]?.events, null);
});

test('sums, open places and directory keep to their keys: all with a TTL but the directory', async (t) => {
  const harness = await openRedisHarness();
  t.after(() => harness.close());
  await harness.setTime(Date.now());
  const [stores] = harness.clients;
  const tenant = freshTenant();
  const id = operation();
  await stores.quota.admit({
    operation: id,
    tenant,
    lines: [
      line('requests', { kind: 'concurrent' }, 5),
      line('spend', { ...DAY, zone: 'Asia/Shanghai' } as typeof DAY, 9),
    ],
    amounts: { requests: 1, tokens: 1, spend: 2 },
    leaseMs: 30_000,
    onExpiry: null,
  });
  const events = [event(id, 4, { time: Date.now() })];
  const other = operation();
  await stores.quota.settle({ operation: other, tenant, actual: { requests: 1, tokens: 4 }, events });
  await stores.directory.put('tenant', tenant, { name: tenant, tier: 'x', limits: [], subjectLimits: [] }, 0);
  const keys = (await harness.raw.keys('tl:*')).filter((key) => !key.endsWith(':probe'));
  const lasting: string[] = [];
  for (const key of keys) {
    assert.match(key, /^tl:\{[^{}]+\}:[\w:.%@~-]+$/);
    if ((await harness.raw.pttl(key)) < 0) lasting.push(key.replace(/of:.*/, 'of:'));
  }
  assert.deepEqual(
    lasting.toSorted(),
    ['tenant', 'tenant:ids', 'tenant:of:', 'writes'].map((end) => `tl:{~}:dir:${end}`),
  );
  for (const part of [':requests:open:tenant', ':spend:day@Asia%002fShanghai:tenant:', ':s:h:', ':s:d:', ':s:top:']) {
    assert.equal(keys.filter((key) => key.includes(part)).length, 1, part);
  }
  // A place that is given back leaves nothing.
  await stores.quota.settle({ operation: id, tenant, actual: { requests: 1, tokens: 4 }, events: [] });
  assert.equal((await harness.raw.keys('*:open:*')).length, 0);
});
