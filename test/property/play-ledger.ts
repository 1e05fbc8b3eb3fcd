import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import type { OperationId } from '../../src/core/ids.ts';
import type { LedgerEvent } from '../../src/core/ledger-event.ts';
import { costOf, microUnits, type MicroUnits } from '../../src/core/money.ts';
import { event, freshTenant, operation } from '../contract/quota-harness.ts';
import type { Harness } from '../contract/quota-harness.ts';
import { type Call, LEASE, LedgerModel, LINES, LOT, PRICE, usedOf, worth } from './ledger-model.ts';

const OPERATIONS = 8;
const CLIENTS = 4;

interface Step {
  readonly kind: Call['kind'] | 'wait';
  readonly operation: number;
  /** Lots of tokens. */
  readonly amount: number;
  readonly charge: boolean;
  readonly thrown: boolean;
  readonly client: number;
  readonly times: number;
  readonly ms: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('admit', 'admit', 'admit', 'settle', 'settle', 'release', 'renew', 'sweep', 'wait', 'wait'),
  operation: fc.integer({ min: 0, max: OPERATIONS - 1 }),
  amount: fc.integer({ min: 0, max: 1100 }),
  charge: fc.boolean(),
  thrown: fc.boolean(),
  client: fc.integer({ min: 0, max: CLIENTS - 1 }),
  times: fc.integer({ min: 1, max: 4 }),
  ms: fc.oneof(fc.integer({ min: 0, max: 3000 }), fc.constantFrom(999, 1000, 7000, 8000), fc.constant(LEASE + 1)),
});

/** What was seen of all histories, so that nobody takes an idle run for a proof. */
export interface Played {
  histories: number;
  calls: number;
  readonly answers: Record<string, number>;
}

/**
 * Plays random histories against a store and the model: reservations, settlements, releases, signs of life and leases that
 * run out, repeated and out of order, by four clients, over two versions of a price. Throws with seed and path at the first
 * difference in an answer, a counter, the ledger or its sums.
 */
export async function playLedger(
  harness: Harness,
  { runs, seed }: { readonly runs: number; readonly seed?: number },
): Promise<Played> {
  const played: Played = { histories: 0, calls: 0, answers: {} };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) => play(harness, steps, played)),
    { numRuns: runs, ...(seed === undefined ? {} : { seed }) },
  );
  return played;
}

async function play(harness: Harness, steps: readonly Step[], played: Played): Promise<void> {
  const model = new LedgerModel();
  const tenant = freshTenant();
  const ids = Array.from({ length: OPERATIONS }, operation);
  const before = harness.expired.length;
  played.histories += 1;
  await harness.setTime(model.now);
  for (const one of steps) {
    if (one.kind === 'wait') {
      model.now += one.ms;
      await harness.setTime(model.now);
      continue;
    }
    // A sweep that finds something: leases run out first.
    if (one.kind === 'sweep' && one.charge) await harness.setTime((model.now += LEASE + 1));
    if (isForgotten(model, one)) continue;
    const call = callOf(model, one, one.kind);
    const expected = model.call(call);
    for (let i = 0; i < one.times; i += 1) {
      const client = harness.clients[(one.client + i) % CLIENTS] ?? harness.clients[0];
      const got: string | number | boolean = await perform(
        client,
        tenant,
        ids[one.operation] as OperationId,
        call,
        model.now,
      );
      played.calls += 1;
      if (one.kind === 'sweep') continue;
      played.answers[`${one.kind} ${String(got)}`] = (played.answers[`${one.kind} ${String(got)}`] ?? 0) + 1;
      const settles: boolean = one.kind === 'settle' || one.kind === 'release';
      assert.equal(got, settles && i > 0 ? 'repeated' : expected, JSON.stringify(one));
    }
    await compare(harness, model, tenant);
  }
  const told = harness.expired.slice(before).filter((lease) => lease.tenant === tenant);
  assert.equal(told.length, model.expired, 'each lease that ran out is told of once');
  assert.deepEqual(await harness.clients[0].spend.verify(tenant), []);
}

/** A refusal is remembered for ten seconds at least; what is said after that is open. */
function isForgotten(model: LedgerModel, one: Step): boolean {
  const known = model.operations.get(one.operation);
  return one.kind === 'admit' && known?.answer === 'denied' && model.now - (known.leaseEnds - LEASE) >= 10_000;
}

/** Reserved is twice the worth; what comes is paid at the version of the arrival, and the try thrown away is half of it. */
function callOf(model: LedgerModel, one: Step, kind: Call['kind']): Call {
  const tokens = BigInt(one.amount) * BigInt(LOT);
  const arrived = model.operations.get(one.operation)?.arrived ?? model.now;
  const cost = worth(usedOf(tokens), arrived);
  const thrown = one.thrown ? worth(usedOf(tokens / 2n), arrived) : 0n;
  return {
    kind,
    operation: one.operation,
    tokens,
    spend: kind === 'admit' ? 2n * worth(usedOf(tokens), model.now) : cost,
    thrown,
    charge: one.charge,
    arrived: kind === 'admit' ? model.now : arrived,
  };
}

async function perform(
  { quota }: Harness['clients'][number],
  tenant: string,
  id: OperationId,
  { kind, tokens, spend, thrown, charge, arrived }: Call,
  now: number,
) {
  switch (kind) {
    case 'sweep':
      return quota.sweep();
    case 'renew':
      return quota.renew(tenant, id, LEASE);
    case 'release':
      return quota.settle({ operation: id, tenant, actual: { requests: 0, tokens: 0, spend: 0 }, events: [] });
    case 'settle': {
      // The gateway's own arithmetic here, the model's there.
      const events = [
        ...(thrown > 0n ? [eventOf(id, tokens / 2n, arrived, { chargedTo: 'gateway' })] : []),
        eventOf(id, tokens, arrived),
      ];
      const cost = events.at(-1)?.cost ?? 0;
      return quota.settle({
        operation: id,
        tenant,
        actual: { requests: 1, tokens: Number(tokens), spend: cost },
        events,
      });
    }
    case 'admit': {
      const { kind: answer } = await quota.admit({
        operation: id,
        tenant,
        lines: LINES,
        amounts: { requests: 1, tokens: Number(tokens), spend: Number(spend) },
        leaseMs: LEASE,
        onExpiry: charge ? eventOf(id, tokens, now, { cost: microUnits(Number(spend)) }) : null,
      });
      return answer;
    }
  }
}

function eventOf(id: OperationId, tokens: bigint, time: number, more: Partial<LedgerEvent> = {}): LedgerEvent {
  const used = usedOf(tokens);
  const [prompt, cached, completion] = [used.prompt, used.cached, used.completion].map(Number) as [
    number,
    number,
    number,
  ];
  const usage = { prompt, cached, completion, reasoning: 0, source: 'upstream' } as const;
  const cost: MicroUnits = costOf(usage, PRICE, time);
  return event(id, 0, {
    promptTokens: prompt,
    cachedTokens: cached,
    completionTokens: completion,
    cost,
    time,
    ...more,
  });
}

async function compare(harness: Harness, model: LedgerModel, tenant: string): Promise<void> {
  const wide = LINES.map((of) => ({ ...of, limit: Number.MAX_SAFE_INTEGER }));
  const states = await harness.clients[2].quota.peek(tenant, wide);
  assert.deepEqual(
    states.map(({ remaining }) => BigInt(Number.MAX_SAFE_INTEGER) - BigInt(remaining)),
    model.sums(),
  );
  const entries = await harness.clients[1].ledger.read(tenant, null, 1000);
  const booked = { tokens: 0n, spend: 0n, gateway: 0n };
  for (const { event: of } of entries) {
    if (of.chargedTo === 'gateway') booked.gateway += BigInt(of.cost);
    else {
      booked.tokens += BigInt(of.promptTokens) + BigInt(of.completionTokens);
      booked.spend += BigInt(of.cost);
    }
  }
  assert.deepEqual(booked, model.booked);
}
