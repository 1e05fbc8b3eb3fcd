import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestContext } from '../../core/context.ts';
import { HeaderList, type HeaderPair } from '../../core/http.ts';
import type { Deployment } from '../../core/snapshot.ts';
import type { Usage } from '../../core/usage.ts';
import { type BookedAttempt, bookedEvents, ledgerEvent } from './ledger-events.ts';

const contextOf = (headers: readonly HeaderPair[] = []): RequestContext =>
  ({
    operation: 'op',
    shownId: 'shown',
    endpoint: 'chat',
    time: 123,
    head: { method: 'POST', path: '/', headers: new HeaderList(headers) },
    principal: { tenant: 'acme', subject: 'ann', businessLine: 'line' },
    decision: { route: { id: 'r' } },
    request: { model: 'asked' },
  }) as unknown as RequestContext;

const usage: Usage = { prompt: 10, cached: 4, completion: 5, reasoning: 2, source: 'upstream' };
const attempt: BookedAttempt = {
  number: 2,
  deployment: {
    model: 'served',
    backend: { name: 'b' },
    price: { currency: 'EUR', promptPerMtok: 1_000_000, cachedPerMtok: 500_000, completionPerMtok: 2_000_000 },
  } as unknown as Deployment,
  usage,
  usageFlag: 'inconsistent',
  firstTokenMs: 30,
  totalMs: 90,
};

test('a try is booked with its usage at its price', () => {
  assert.deepEqual(ledgerEvent(contextOf(), attempt, 'complete', 'tenant'), {
    operation: 'op',
    requestId: 'shown',
    attempt: 2,
    chargedTo: 'tenant',
    status: 'complete',
    tenant: 'acme',
    subject: 'ann',
    businessLine: 'line',
    requestType: 'chat',
    route: 'r',
    requestedModel: 'asked',
    model: 'served',
    backend: 'b',
    promptTokens: 10,
    cachedTokens: 4,
    completionTokens: 5,
    reasoningTokens: 2,
    estimated: false,
    usageFlag: 'inconsistent',
    cost: 18,
    currency: 'EUR',
    firstTokenMs: 30,
    totalMs: 90,
    time: 123,
  });
});

test('an estimate says so, and a type that the client named is kept', () => {
  const event = ledgerEvent(
    contextOf([['x-request-type', 'summary']]),
    { ...attempt, usage: { ...usage, source: 'estimate' } },
    'partial',
    'gateway',
  );
  assert.deepEqual(
    [event.estimated, event.requestType, event.chargedTo, event.status],
    [true, 'summary', 'gateway', 'partial'],
  );
});

test('a request that reached no model costs nothing', () => {
  const event = ledgerEvent(contextOf(), null, 'error', 'tenant');
  assert.deepEqual(
    [event.attempt, event.model, event.backend, event.cost, event.promptTokens, event.completionTokens, event.totalMs],
    [0, '', '', 0, 0, 0, 0],
  );
});

test('a job that found no room is no request of its tenant yet', () => {
  const ctx = contextOf();
  const job = { ...ctx, principal: { ...ctx.principal, job: { id: 'job_1', operation: 'op' } } } as RequestContext;
  const unplaced = ledgerEvent(ctx, null, 'error', 'tenant');
  const tried = ledgerEvent(ctx, attempt, 'error', 'tenant');
  const first = ledgerEvent(ctx, { ...attempt, number: 1 }, 'error', 'gateway');
  for (const status of [429, 503]) {
    assert.deepEqual(bookedEvents(job, { thrownAway: [], end: unplaced, status }), []);
    const events = bookedEvents(job, { thrownAway: [first], end: tried, status });
    assert.deepEqual(
      events.map(({ attempt: number, chargedTo, cost }) => [number, chargedTo, cost]),
      [
        [1, 'gateway', 18],
        [2, 'gateway', 18],
      ],
    );
  }
  assert.deepEqual(bookedEvents(job, { thrownAway: [], end: tried, status: 400 }), [tried], 'that is its answer');
  assert.deepEqual(bookedEvents(ctx, { thrownAway: [], end: unplaced, status: 429 }), [unplaced], 'nobody asks again');
});
