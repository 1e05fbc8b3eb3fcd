import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Arrived, RequestContext } from '../../core/context.ts';
import type { Judged } from '../../core/decision.ts';
import type { Ending } from '../../core/ending.ts';
import { NobodyLeft } from '../../core/nobody-left.ts';
import { Trail } from '../../core/trail.ts';
import { auditFacts } from './audit-facts.ts';

const JULY = Date.UTC(2026, 6, 1);
const price = {
  currency: 'EUR',
  promptPerMtok: 1_000_000,
  cachedPerMtok: 100_000,
  completionPerMtok: 2_000_000,
  later: [{ currency: 'EUR', promptPerMtok: 7, cachedPerMtok: 1, completionPerMtok: 9, validFrom: JULY }],
};
const deployment = (model: string, backend: string) => ({
  id: `${model}@${backend}`,
  model,
  upstreamModel: `org/${model}-8b`,
  backend: { name: backend, dialect: 'openai', credentials: [['authorization', 'secret-of-backend']] },
  costTier: 'standard',
  price,
});
const candidates = [
  { deployment: deployment('m', 'a'), reason: 'weighted' },
  { deployment: deployment('n', 'b'), reason: 'fallback' },
];

const judged = () => [
  { deployment: 'm@a', place: 1, reason: 'weighted', health: 1 },
  { deployment: 'n@b', place: 2, reason: 'fallback', health: 1 },
  { deployment: 'o@c', place: null, reason: 'circuit_breaker_open', health: 0.05 },
];

function context(time: number, over: object = {}): Partial<RequestContext> & Arrived {
  const trail = new Trail();
  trail.note('enhance', 5, 'clean', '2 texts against 9 terms');
  return { time, trail, decision: { candidates, judged }, ...over } as unknown as Partial<RequestContext> & Arrived;
}

const ending = (events: readonly object[]): Ending => ({ events }) as unknown as Ending;
const served = ending([
  { chargedTo: 'gateway', model: 'm', backend: 'a' },
  { chargedTo: 'tenant', model: 'n', backend: 'b' },
]);

test('who could have served and who did, at the price of then, and what the filter said', () => {
  const facts = auditFacts(context(JULY), served, { id: 'x' });
  assert.deepEqual(facts, {
    id: 'x',
    candidates: [
      { deployment: 'm@a', place: 1, reason: 'weighted' },
      { deployment: 'n@b', place: 2, reason: 'fallback' },
      { deployment: 'o@c', place: null, reason: 'circuit_breaker_open' },
    ],
    deployment: {
      id: 'n@b',
      model: 'n',
      upstream_model: 'org/n-8b',
      backend: 'b',
      dialect: 'openai',
      cost_tier: 'standard',
      price: { currency: 'EUR', valid_from: '2026-07-01T00:00:00.000Z', prompt: 7, cached: 1, completion: 9 },
    },
    safety: { verdict: 'clean', rule: '2 texts against 9 terms' },
  });
  assert.doesNotMatch(JSON.stringify(facts), /secret/);
});

test('before its first version has ended, a price is the first one', () => {
  const { deployment: facts } = auditFacts(context(JULY - 1), served, {});
  assert.deepEqual((facts as { price: unknown }).price, {
    currency: 'EUR',
    valid_from: null,
    prompt: 1_000_000,
    cached: 100_000,
    completion: 2_000_000,
  });
});

test('a request that got nowhere has nobody and no verdict', () => {
  const nowhere = context(0, { trail: new Trail(), decision: undefined });
  assert.deepEqual(auditFacts(nowhere, ending([]), {}), { candidates: [], deployment: null, safety: null });
});

test('a request that nobody may serve has those that were looked at', () => {
  const refused = context(0, { trail: new Trail(), decision: undefined });
  const error = new NobodyLeft('circuit_breaker_open', 'later', {
    judged: () => judged().slice(2) as unknown as Judged[],
  });
  const { candidates: looked } = auditFacts(refused, { ...ending([]), kind: 'failed', error }, {});
  assert.deepEqual(looked, [{ deployment: 'o@c', place: null, reason: 'circuit_breaker_open' }]);
});

test('many candidates are cut', () => {
  const many = Array.from({ length: 100 }, (_, at) => ({ deployment: `m@b${at}`, place: at + 1, reason: 'fallback' }));
  const { candidates: kept } = auditFacts(context(0, { decision: { candidates, judged: () => many } }), ending([]), {});
  assert.equal((kept as readonly unknown[]).length, 32);
});
