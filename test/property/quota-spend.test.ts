import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { LedgerEvent } from '../../src/core/ledger-event.ts';
import { microUnits } from '../../src/core/money.ts';
import type { SpendRow } from '../../src/core/ports/spend-reader.ts';
import { openMemoryHarness } from '../contract/memory-harness.ts';
import { event, freshTenant, operation } from '../contract/quota-harness.ts';
import type { Harness } from '../contract/quota-harness.ts';
import { openRedisHarness } from '../contract/redis-harness.ts';

/** Half an hour before the clocks of the zone go back. */
const START = Date.parse('2027-10-30T21:30Z');
const ZONE = 'Europe/Berlin';
const LEASE = 30_000;
const HOUR = 3_600_000;
const OPERATIONS = 8;
const DIMENSIONS = ['model', 'backend', 'business_line', 'request_type', 'tenant', 'charged_to'] as const;

const facts = fc.record({
  model: fc.constantFrom('m', 'n\t"', '*'),
  backend: fc.constantFrom('b', 'c'),
  chargedTo: fc.constantFrom('tenant', 'tenant', 'gateway'),
  currency: fc.constantFrom('USD', 'EUR'),
  promptTokens: fc.integer({ min: 0, max: 1_000_000 }),
  completionTokens: fc.integer({ min: 0, max: 1_000_000 }),
  cost: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 1_000_000_000_000 }), fc.constant(2 ** 46 + 1)),
  ago: fc.integer({ min: -HOUR, max: 30 * HOUR }),
});
type Facts = typeof facts extends fc.Arbitrary<infer T> ? T : never;

const step = fc.record({
  kind: fc.constantFrom('admit', 'admit', 'settle', 'settle', 'sweep', 'wait'),
  operation: fc.integer({ min: 0, max: OPERATIONS - 1 }),
  client: fc.integer({ min: 0, max: 2 }),
  charge: fc.boolean(),
  facts: fc.array(facts, { minLength: 1, maxLength: 3 }),
  times: fc.integer({ min: 1, max: 2 }),
  ms: fc.constantFrom(1000, LEASE + 1, HOUR, 5 * HOUR),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

for (const [name, open, numRuns] of [
  ['memory', openMemoryHarness, 200],
  ['redis', openRedisHarness, 60],
] as const) {
  describe(`sums of ${name}`, () => {
    let harness: Harness;
    before(async () => {
      harness = await open(ZONE);
    });
    after(() => harness.close());

    test('rows add up to the events of the ledger, to the micro-unit, after any history', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), (steps) => play(harness, steps)),
        { numRuns },
      );
    });
  });
}

async function play(harness: Harness, steps: readonly Step[]): Promise<void> {
  const tenant = freshTenant();
  const ids = Array.from({ length: OPERATIONS }, operation);
  let now = START;
  await harness.setTime(now);
  for (const one of steps) {
    const { quota } = harness.clients[one.client]!;
    const id = ids[one.operation]!;
    const events = one.facts.map((of) => eventOf(id, of, now));
    for (let i = 0; i < one.times; i += 1) {
      if (one.kind === 'sweep') await quota.sweep();
      if (one.kind === 'settle')
        await quota.settle({ operation: id, tenant, actual: { requests: 1, tokens: 1 }, events });
      if (one.kind !== 'admit') continue;
      const onExpiry = one.charge ? events[0]! : null;
      const amounts = { requests: 1, tokens: 1 };
      await quota.admit({ operation: id, tenant, lines: [], amounts, leaseMs: LEASE, onExpiry });
    }
    if (one.kind === 'wait') await harness.setTime((now += one.ms));
  }
  await compare(harness, tenant, now);
}

function eventOf(id: ReturnType<typeof operation>, { ago, cost, ...more }: Facts, now: number): LedgerEvent {
  return event(id, 0, {
    ...more,
    cachedTokens: Math.floor(more.promptTokens / 3),
    cost: microUnits(cost),
    time: now - ago,
  });
}

async function compare(harness: Harness, tenant: string, now: number): Promise<void> {
  const [reader, other] = harness.clients;
  const ledger = (await reader.ledger.read(tenant, null, 1000)).map((entry) => entry.event);
  const expected = new Map<string, bigint[]>();
  for (const one of ledger) {
    const key = JSON.stringify([
      one.model,
      one.backend,
      one.businessLine,
      one.requestType,
      tenant,
      one.chargedTo,
      one.currency,
    ]);
    const numbers = [one.promptTokens, one.cachedTokens, one.completionTokens, one.cost].map(BigInt);
    expected.set(
      key,
      numbers.map((value, i) => value + (expected.get(key)?.[i] ?? 0n)),
    );
  }
  for (const unit of ['hour', 'day'] as const) {
    const query = { tenant, unit, from: START - 72 * HOUR, to: now + 48 * HOUR };
    const rows = await other.spend.spend({ ...query, by: DIMENSIONS });
    const sums = new Map<string, bigint[]>();
    for (const row of rows) {
      const key = JSON.stringify([...DIMENSIONS.map((dimension) => row.keys[dimension]), row.currency]);
      sums.set(
        key,
        numbersOf(row).map((value, i) => value + (sums.get(key)?.[i] ?? 0n)),
      );
    }
    const nothing = (numbers: readonly bigint[]): boolean => numbers.every((value) => value === 0n);
    for (const [key, numbers] of expected)
      assert.deepEqual(sums.get(key) ?? [0n, 0n, 0n, 0n], numbers, `${unit} ${key}`);
    for (const [key, numbers] of sums) assert.ok(expected.has(key) || nothing(numbers), `${unit} ${key}`);
    // The same money, however it is grouped.
    const whole = await other.spend.spend({ ...query, by: [] });
    const total = (of: readonly SpendRow[]): bigint => of.reduce((sum, { cost }) => sum + BigInt(cost), 0n);
    assert.equal(
      total(whole),
      ledger.reduce((sum, { cost }) => sum + BigInt(cost), 0n),
    );
    // Each operation is one request of the tenant at most for each of its own events; none is left below zero.
    assert.ok(rows.every(({ requests }) => requests >= 0));
  }
  assert.deepEqual(await reader.spend.verify(tenant), []);
}

function numbersOf(row: SpendRow): bigint[] {
  return [row.promptTokens, row.cachedTokens, row.completionTokens, row.cost].map(BigInt);
}
