import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Arrived, RequestContext } from '../../core/context.ts';
import type { Ending } from '../../core/ending.ts';
import type { Json } from '../../core/json.ts';
import type { LimitState } from '../../core/limit.ts';
import { canonicalJson } from '../../lib/jcs/canonical-json.ts';
import { bookingFacts } from '../../stations/wrap/booking-facts.ts';
import { ledgerEvent } from '../cost-kit.test.ts';
import { readBooking } from './read-booking.ts';

type Context = Partial<RequestContext> & Arrived;

const price = { currency: 'USD', promptPerMtok: 1, cachedPerMtok: 1, completionPerMtok: 1 };
const later = { ...price, validFrom: Date.UTC(2026, 4, 1) };
const models = new Map([['m', { deployments: [{ backend: { name: 'b' }, price: { ...price, later: [later] } }] }]]);
const state = (line: LimitState['line']): LimitState => ({ line, remaining: 1, resetMs: 1 });
const held = {
  kind: 'held',
  reservedTokens: 5,
  limits: [
    state({ scope: 'tenant', unit: 'tokens', window: { kind: 'calendar', unit: 'day' }, limit: 9 }),
    state({
      scope: 'line:a',
      unit: 'spend',
      window: { kind: 'calendar', unit: 'month', zone: 'Asia/Tokyo' },
      limit: 9,
    }),
    state({ scope: 'subject:x', unit: 'requests', window: { kind: 'sliding', seconds: 60 }, limit: 9 }),
    state({ scope: 'tenant', unit: 'requests', window: { kind: 'concurrent' }, limit: 9 }),
  ],
};
const ctx = (admission: object | undefined): Context =>
  ({ config: { models }, ...(admission === undefined ? {} : { admission }) }) as unknown as Context;
const usage = { prompt: 100, completion: 10, cached: 0, reasoning: 0, source: 'upstream' };
const ending = (events: readonly object[], attempts: readonly object[] = [{}]): Ending =>
  ({ kind: 'failed', usage, attempts, events }) as unknown as Ending;
const events = [
  ledgerEvent({ chargedTo: 'gateway', status: 'error', cost: 7 }),
  ledgerEvent({ attempt: 2, audioPromptTokens: 3 }),
];
/** As the record has it. */
const recorded = (facts: Json): Json => JSON.parse(canonicalJson({ booking: facts })) as Json;
const read = (facts: Json) => readBooking(facts as { readonly [key: string]: Json });

test('what a request booked comes back from its record as it was', () => {
  const booking = read(recorded(bookingFacts(ctx(held), ending(events))));
  assert.ok(booking !== null && booking !== 'unfit');
  assert.deepEqual(booking.events, events);
  assert.deepEqual(booking.taken, { requests: 1, tokens: 110, spend: 1000 });
  assert.deepEqual(
    booking.lines.map(({ scope, unit, window }) => ({ scope, unit, window })),
    held.limits.slice(0, 3).map(({ line: { scope, unit, window } }) => ({ scope, unit, window })),
  );
  const facts = bookingFacts(ctx(held), ending(events)) as { readonly events: readonly { readonly priceFrom: Json }[] };
  assert.deepEqual(facts.events[0]?.priceFrom, later.validFrom);
});

test('nothing is recorded as booked that was not', () => {
  assert.equal(bookingFacts(ctx(undefined), ending(events)), null);
  assert.equal(bookingFacts(ctx(held), ending([])), null);
  const unbooked = { kind: 'unbooked', reason: 'away', mayHold: false };
  const nobody = ending([ledgerEvent({ attempt: 0 })], []);
  assert.equal(bookingFacts(ctx(unbooked), nobody), null);
  const perhaps = read(recorded(bookingFacts(ctx({ ...unbooked, mayHold: true }), nobody)));
  assert.ok(perhaps !== null && perhaps !== 'unfit');
  assert.deepEqual([perhaps.taken, perhaps.lines], [{ requests: 0, tokens: 0, spend: 0 }, []]);
});

test('records of other versions are told apart from those that booked nothing', () => {
  assert.equal(read({ booking: null, cost: '1.5' }), null);
  assert.equal(read({ cost: null }), null);
  assert.equal(read({ cost: '1.5' }), 'unfit');
  assert.equal(read({ audit_too_large: { bytes: 1 } }), 'unfit');
});

test('what was changed anywhere is unfit, or still a booking; never a fault', () => {
  const whole = recorded(bookingFacts(ctx(held), ending(events)));
  const text = JSON.stringify(whole);
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.constantFrom('', '-', '1', 'x', '"', '{', '[', 'null', '.5'), (at, put) => {
      let changed: Json;
      try {
        changed = JSON.parse(text.slice(0, at) + put + text.slice(at + 1)) as Json;
      } catch {
        return;
      }
      if (typeof changed !== 'object' || changed === null || Array.isArray(changed)) return;
      const booking = read(changed);
      if (booking === null || booking === 'unfit') return;
      for (const event of booking.events) assert.ok(Number.isSafeInteger(event.cost) && event.cost >= 0);
    }),
    { numRuns: 3000 },
  );
});
