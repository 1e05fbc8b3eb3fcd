import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { OperationId } from '../../src/core/ids.ts';
import type { LimitLine } from '../../src/core/limit.ts';
import { openMemoryHarness } from '../contract/memory-harness.ts';
import { DAY, event, freshTenant, line, operation } from '../contract/quota-harness.ts';
import type { Harness } from '../contract/quota-harness.ts';
import { openRedisHarness } from '../contract/redis-harness.ts';

const START = Date.UTC(2027, 11, 31, 23, 59, 20);
const LEASE = 30_000;
const SECONDS = 7;
const SCALE = 1_000_000_000_000;
const LINES: readonly LimitLine[] = [
  line('tokens', { kind: 'sliding', seconds: SECONDS }, 1000 * SCALE),
  line('tokens', DAY, 1800 * SCALE),
  line('requests', { kind: 'sliding', seconds: SECONDS }, 6),
  // UTC all the year, but reckoned as a zone.
  line('spend', { kind: 'calendar', unit: 'day', zone: 'Atlantic/Reykjavik' }, 4000 * SCALE, 'key:k'),
  line('spend', { kind: 'sliding', seconds: SECONDS }, 3000 * SCALE),
  line('requests', { kind: 'concurrent' }, 4, 'key:k'),
  line('tokens', { kind: 'concurrent' }, 1500 * SCALE),
];
const kindOf = (of: number): 'sliding' | 'calendar' | 'concurrent' => LINES[of]!.window.kind;
/** What a request of so many tokens takes from each line; its true cost is half of what was reserved. */
const takes = (tokens: bigint, spend: bigint): readonly bigint[] => [tokens, tokens, 1n, spend, spend, 1n, tokens];

/** One charge of one counter: `at` is the second of a window, or the day. */
interface Charge {
  readonly line: number;
  readonly at: number;
  amount: bigint;
}
interface Held {
  state: 'held' | 'settled' | 'expired' | 'denied';
  readonly answer: 'held' | 'denied';
  charges: Charge[];
  leaseEnds: number;
  readonly onExpiry: bigint | null;
}

/** The port's words, in the plainest way: a list of charges, summed anew each time, in exact integers. */
class Model {
  now = START;
  readonly charges: Charge[] = [];
  readonly operations = new Map<number, Held>();
  booked = 0n;
  /** Latest second each window has seen something: windows do not go back. */
  sum(of: number): bigint {
    return this.charges
      .filter((charge) => charge.line === of && this.counts(charge))
      .reduce((sum, c) => sum + c.amount, 0n);
  }
  counts({ line: of, at }: Charge): boolean {
    if (kindOf(of) === 'concurrent') return true;
    return kindOf(of) === 'calendar' ? at === this.day() : at >= Math.floor(this.now / 1000) - SECONDS;
  }
  day(): number {
    return Math.floor(this.now / 86_400_000);
  }
  place(of: number): number {
    return kindOf(of) === 'calendar' ? this.day() : Math.floor(this.now / 1000);
  }
  charge(of: number, amount: bigint, at = this.place(of)): Charge {
    const charge = { line: of, at, amount };
    this.charges.push(charge);
    return charge;
  }
  replace(held: Held, actual: readonly bigint[]): void {
    for (const charge of held.charges) {
      if (kindOf(charge.line) === 'concurrent') continue;
      const difference = (actual[charge.line] ?? 0n) - charge.amount;
      // What is given back goes to where it was taken; what comes on top counts now, or on the day of the reservation.
      if (difference <= 0n || kindOf(charge.line) === 'calendar') charge.amount += difference;
      else this.charge(charge.line, difference);
    }
  }
  /** Gives back its places. */
  close(held: Held): void {
    for (const charge of held.charges) if (kindOf(charge.line) === 'concurrent') charge.amount = 0n;
  }
  expire(): void {
    for (const held of this.operations.values()) {
      if (held.state !== 'held' || held.leaseEnds > this.now) continue;
      held.state = 'expired';
      this.close(held);
      if (held.onExpiry === null) this.replace(held, []);
      else this.booked += held.onExpiry;
    }
  }
}

interface Step {
  readonly kind: 'admit' | 'settle' | 'renew' | 'sweep' | 'wait';
  readonly operation: number;
  readonly amount: number;
  readonly charge: boolean;
  readonly client: number;
  readonly times: number;
  readonly ms: number;
}
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('admit', 'admit', 'admit', 'settle', 'settle', 'renew', 'sweep', 'wait', 'wait'),
  operation: fc.integer({ min: 0, max: 9 }),
  amount: fc.integer({ min: 0, max: 1100 }),
  charge: fc.boolean(),
  client: fc.integer({ min: 0, max: 2 }),
  times: fc.integer({ min: 1, max: 3 }),
  ms: fc.oneof(fc.integer({ min: 0, max: 3000 }), fc.constantFrom(999, 1000, 7000, 8000, 31_000)),
});

for (const [name, open, numRuns] of [
  ['memory', openMemoryHarness, 1500],
  ['redis', openRedisHarness, 250],
] as const) {
  describe(`histories of ${name} agree with the model`, () => {
    let harness: Harness;
    before(async () => {
      harness = await open();
    });
    after(() => harness.close());

    test('admit, settle, renew and expire, repeated, in any order, from three clients (P11)', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) => play(harness, steps)),
        { numRuns },
      );
    });
  });
}

async function play(harness: Harness, steps: readonly Step[]): Promise<void> {
  const model = new Model();
  const tenant = freshTenant();
  const ids = Array.from({ length: 10 }, operation);
  await harness.setTime(model.now);
  for (const one of steps) {
    if (one.kind === 'wait') {
      model.now += one.ms;
      await harness.setTime(model.now);
      continue;
    }
    if (isForgotten(model, one)) continue;
    const expected = expect(model, one);
    for (let i = 0; i < one.times; i += 1) {
      const got = await perform(harness, (one.client + i) % 3, tenant, ids[one.operation]!, one);
      if (one.kind === 'sweep') continue;
      assert.equal(got, one.kind === 'settle' && i > 0 ? 'repeated' : expected, JSON.stringify(one));
    }
    await compare(harness, model, tenant);
  }
}

/** A refusal is remembered for ten seconds at least; what is said after that is open. */
function isForgotten(model: Model, one: Step): boolean {
  const known = model.operations.get(one.operation);
  return one.kind === 'admit' && known?.answer === 'denied' && model.now - (known.leaseEnds - LEASE) >= 10_000;
}

async function perform(harness: Harness, client: number, tenant: string, id: OperationId, one: Step) {
  const { quota } = harness.clients[client]!;
  const tokens = one.amount * SCALE;
  if (one.kind === 'sweep') return quota.sweep();
  if (one.kind === 'renew') return quota.renew(tenant, id, LEASE);
  if (one.kind === 'settle') {
    const events = [event(id, tokens, { cost: 0 as never })];
    return quota.settle({ operation: id, tenant, actual: { requests: 1, tokens, spend: tokens }, events });
  }
  const result = await quota.admit({
    operation: id,
    tenant,
    lines: LINES,
    amounts: { requests: 1, tokens, spend: tokens * 2 },
    leaseMs: LEASE,
    onExpiry: one.charge ? event(id, tokens, { cost: 0 as never }) : null,
  });
  return result.kind;
}

/** Moves the model and says what the first call must answer. */
function expect(model: Model, one: Step): string | boolean {
  const known = model.operations.get(one.operation);
  const tokens = BigInt(one.amount) * BigInt(SCALE);
  switch (one.kind) {
    case 'admit': {
      // Settled without ever having been asked for; any other answer is remembered, and saying it again moves nothing.
      const unasked = known?.state === 'settled' && known.answer === 'held' && known.charges.length === 0;
      if (known !== undefined && !unasked) return known.answer;
      const wanted = takes(tokens, tokens * 2n);
      const full = (of: LimitLine, i: number): boolean => model.sum(i) + wanted[i]! > BigInt(of.limit);
      // A place that is missing may be one that a lease left taken.
      if (LINES.some((of, i) => kindOf(i) === 'concurrent' && full(of, i))) model.expire();
      const fits = !LINES.some(full);
      if (unasked) return fits ? 'held' : 'denied';
      const charges = fits ? wanted.map((amount, i) => model.charge(i, amount)) : [];
      const answer = fits ? 'held' : 'denied';
      const leaseEnds = model.now + LEASE;
      model.operations.set(one.operation, {
        state: answer,
        answer,
        charges,
        leaseEnds,
        onExpiry: one.charge ? tokens : null,
      });
      return answer;
    }
    case 'renew':
      if (known?.state !== 'held') return false;
      known.leaseEnds = model.now + LEASE;
      return true;
    case 'settle': {
      if (known?.state === 'settled') return 'repeated';
      model.booked += tokens;
      if (known === undefined) {
        const unbooked: Held = { state: 'settled', answer: 'held', charges: [], leaseEnds: 0, onExpiry: null };
        model.operations.set(one.operation, unbooked);
        return 'settled';
      }
      const late = known.state === 'expired';
      if (late) model.booked -= known.onExpiry ?? 0n;
      model.replace(known, takes(tokens, tokens));
      if (!late) model.close(known);
      known.state = 'settled';
      return late ? 'late' : 'settled';
    }
    case 'sweep':
      model.expire();
      break;
    case 'wait':
      break;
  }
  return true;
}

async function compare(harness: Harness, model: Model, tenant: string): Promise<void> {
  const wide = LINES.map((of) => ({ ...of, limit: Number.MAX_SAFE_INTEGER }));
  const states = await harness.clients[0].quota.peek(tenant, wide);
  const sums = states.map(({ remaining }) => BigInt(Number.MAX_SAFE_INTEGER) - BigInt(remaining));
  assert.deepEqual(
    sums,
    LINES.map((_, i) => model.sum(i)),
  );
  const entries = await harness.clients[1].ledger.read(tenant, null, 1000);
  assert.equal(
    entries.reduce((sum, entry) => sum + BigInt(entry.event.promptTokens), 0n),
    model.booked,
  );
}
