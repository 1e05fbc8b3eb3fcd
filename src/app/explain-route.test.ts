import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExplainAsk } from '../admin/admin-deps.ts';
import type { Snapshot } from '../core/snapshot.ts';
import type { Surged, SurgePolicy } from '../core/surge.ts';
import { createExplainRoute } from './explain-route.ts';

const DIVERT = { share: 0.1, model: 'light' };
const POLICY: SurgePolicy = {
  levels: [{ above: 1, largestN: null, divert: DIVERT, bufferStreams: true }],
  leaveBelow: 0.85,
  leaveAfterMs: 1000,
  exemptTiers: new Set(['gold']),
};

/** The load under which a question is answered. */
function surgeOf(level: number, ask: Partial<ExplainAsk> = {}): Surged | undefined {
  let seen: Surged | undefined;
  const explain = createExplainRoute({
    station: {
      preview: (ctx) => {
        seen = ctx.surge;
        throw new Error('seen enough');
      },
    },
    config: () =>
      ({
        surge: POLICY,
        tenants: new Map(),
        tenantDefaults: { tier: 'standard', businessLine: 'x' },
        timeouts: { requestMs: 1000 },
      }) as unknown as Snapshot,
    clock: { now: () => 0, time: () => 0 },
    surge: { level: () => level },
  });
  assert.throws(
    () =>
      explain({
        tenant: 't',
        stream: true,
        endpoint: 'chat',
        type: null,
        tier: null,
        scopes: [],
        ...ask,
      } as ExplainAsk),
    /seen enough/,
  );
  return seen;
}

test('what would be decided now is decided under the load of now', () => {
  assert.equal(surgeOf(0), undefined);
  assert.deepEqual(surgeOf(1), { level: 1, divert: DIVERT, reduced: null, buffered: true });
  assert.equal(surgeOf(1, { stream: false })?.buffered, false);
  assert.equal(surgeOf(1, { tier: 'gold' }), undefined);
});
