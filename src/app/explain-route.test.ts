import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExplainAsk } from '../admin/admin-deps.ts';
import type { Judged } from '../core/decision.ts';
import { NobodyLeft } from '../core/nobody-left.ts';
import type { Snapshot } from '../core/snapshot.ts';
import type { Surged, SurgePolicy } from '../core/surge.ts';
import type { RouteContext } from '../stations/route/match-inputs.ts';
import { createExplainRoute } from './explain-route.ts';

const DIVERT = { share: 0.1, model: 'light' };
const POLICY: SurgePolicy = {
  levels: [{ above: 1, largestN: null, divert: DIVERT, bufferStreams: true }],
  leaveBelow: 0.85,
  leaveAfterMs: 1000,
  exemptTiers: new Set(['gold']),
};

const CONFIG = {
  surge: POLICY,
  tenants: new Map(),
  tenantDefaults: { tier: 'standard', businessLine: 'x' },
  timeouts: { requestMs: 1000 },
} as unknown as Snapshot;

const ASK = {
  tenant: 't',
  stream: true,
  endpoint: 'chat',
  type: null,
  class: null,
  prompt: null,
  session: null,
  tier: null,
  scopes: [],
} as unknown as ExplainAsk;

/** What routing sees of a question. */
function seenOf(level: number, ask: Partial<ExplainAsk> = {}): RouteContext {
  let seen: RouteContext | undefined;
  const explain = createExplainRoute({
    station: {
      preview: (ctx) => {
        seen = ctx;
        throw new Error('seen enough');
      },
    },
    config: () => CONFIG,
    clock: { now: () => 0, time: () => 0 },
    surge: { level: () => level },
  });
  assert.throws(() => explain({ ...ASK, ...ask }), /seen enough/);
  assert.ok(seen !== undefined);
  return seen;
}

/** The load under which a question is answered. */
const surgeOf = (level: number, ask: Partial<ExplainAsk> = {}): Surged | undefined => seenOf(level, ask).surge;

test('what would be decided now is decided under the load of now', () => {
  assert.equal(surgeOf(0), undefined);
  assert.deepEqual(surgeOf(1), { level: 1, divert: DIVERT, reduced: null, buffered: true });
  assert.equal(surgeOf(1, { stream: false })?.buffered, false);
  assert.equal(surgeOf(1, { tier: 'gold' }), undefined);
});

test('a request that would be refused is explained all the same', () => {
  const judged = () => [{ deployment: 'm@a', place: null, reason: 'circuit_breaker_open' }] as unknown as Judged[];
  const explain = createExplainRoute({
    station: {
      preview: () => {
        throw new NobodyLeft('circuit_breaker_open', 'back soon', { judged });
      },
    },
    config: () => CONFIG,
    clock: { now: () => 0, time: () => 0 },
    surge: { level: () => 0 },
  });
  const { refused, plan, candidates } = explain(ASK);
  assert.deepEqual(refused, { code: 'circuit_breaker_open', status: 503, message: 'back soon' });
  assert.deepEqual([plan, candidates], [[], judged()]);
});

test('a prompt and a class are looked at as those of a request would be', () => {
  const { request, head } = seenOf(0, { prompt: 'prove it', class: 'math' });
  assert.deepEqual(request.texts, [{ param: 'messages[0].content', role: 'user', text: 'prove it' }]);
  assert.equal(head.headers.get('x-request-class'), 'math');
  assert.deepEqual(seenOf(0).request.texts, []);
  assert.equal(seenOf(0).head.headers.get('x-request-class'), undefined);
});

test('a class that does not count is told with the reason', () => {
  const wordsOf = (classifier: object | null, asked: string | null): string =>
    createExplainRoute({
      station: {
        preview: () =>
          ({
            decision: { route: { id: 'r', classifier }, candidates: [], judged: () => [] },
            words: 'as usual',
          }) as never,
      },
      config: () => CONFIG,
      clock: { now: () => 0, time: () => 0 },
      surge: { level: () => 0 },
    })({ ...ASK, class: asked }).words;
  const work = { name: 'work', trustsHeader: true, classes: new Set(['agent', 'general']) };
  assert.equal(wordsOf(work, 'agent'), 'as usual');
  assert.equal(wordsOf(work, null), 'as usual');
  assert.equal(wordsOf(work, 'foo'), 'as usual; class foo does not count: work has only agent, general');
  assert.match(wordsOf({ ...work, trustsHeader: false }, 'agent'), /work does not take the client's word/);
  assert.match(wordsOf(null, 'agent'), /the route has no classifier/);
});
