import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Classified } from '../core/classifier.ts';
import type { AttemptLog } from './attempt-log.ts';
import { deploymentOf } from './flow-kit.test.ts';
import { answerHeaders } from './response-heads.ts';
import type { Surged } from '../core/surge.ts';
import type { GrowingContext } from './walk.ts';

function headersOf(
  fallbackReason: 'budget_exhausted' | 'surge' | null,
  tried: boolean,
  surge?: Surged,
  classified: Classified | null = null,
): Record<string, string> {
  const decision = { route: { id: 'r' }, fallbackReason, classified };
  const attempts = {
    current: tried ? { candidate: { deployment: deploymentOf('b') } } : null,
    count: 1,
  } as unknown as AttemptLog;
  return Object.fromEntries(
    answerHeaders({ shownId: 'id', decision, surge } as unknown as GrowingContext, { attempts }),
  );
}

test('that a cheaper model answered is told where one was tried, and only for that reason', () => {
  assert.equal(headersOf('budget_exhausted', true)['x-fallback-reason'], 'budget_exhausted');
  assert.equal(headersOf('budget_exhausted', false)['x-fallback-reason'], undefined);
  assert.equal(headersOf(null, true)['x-fallback-reason'], undefined);
});

test('high load is told where it made the answer another one, and only there', () => {
  const surge: Surged = { level: 2, divert: { share: 0.1, model: 'light' }, reduced: null, buffered: false };
  const reduced = { from: 4, to: 1, by: 'caller' as const };
  const told = (headers: Record<string, string>) => [headers['x-tokenlat-surge'], headers['x-resource-adapted']];
  assert.deepEqual(told(headersOf(null, true, surge)), [undefined, undefined]);
  assert.deepEqual(told(headersOf('surge', true, surge)), ['2', undefined]);
  assert.deepEqual(told(headersOf(null, true, { ...surge, buffered: true })), ['2', undefined]);
  assert.deepEqual(told(headersOf(null, true, { ...surge, reduced })), ['2', 'n_reduced_from_4_to_1']);
  assert.deepEqual(told(headersOf(null, false, { ...surge, reduced })), [undefined, undefined]);
});

test('the class of a request is told where the route has a classifier, tried or not', () => {
  const classified: Classified = { classifier: 'work', class: 'code', by: 'text', margin: 0.2 };
  assert.equal(headersOf(null, true, undefined, classified)['x-route-class'], 'code');
  assert.equal(headersOf(null, false, undefined, classified)['x-route-class'], 'code');
  assert.equal(headersOf(null, true)['x-route-class'], undefined);
});
