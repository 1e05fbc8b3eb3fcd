import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttemptLog } from './attempt-log.ts';
import { deploymentOf } from './flow-kit.test.ts';
import { answerHeaders } from './response-heads.ts';
import type { GrowingContext } from './walk.ts';

function headersOf(fallbackReason: 'budget_exhausted' | null, tried: boolean): Record<string, string> {
  const decision = { route: { id: 'r' }, fallbackReason };
  const attempts = {
    current: tried ? { candidate: { deployment: deploymentOf('b') } } : null,
    count: 1,
  } as unknown as AttemptLog;
  return Object.fromEntries(answerHeaders({ shownId: 'id', decision } as unknown as GrowingContext, { attempts }));
}

test('that a cheaper model answered is told where one was tried, and only for that reason', () => {
  assert.equal(headersOf('budget_exhausted', true)['x-fallback-reason'], 'budget_exhausted');
  assert.equal(headersOf('budget_exhausted', false)['x-fallback-reason'], undefined);
  assert.equal(headersOf(null, true)['x-fallback-reason'], undefined);
});
