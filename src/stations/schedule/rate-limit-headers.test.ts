import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LimitState, LimitUnit } from '../../core/limit.ts';
import { formatSpan, rateLimitHeaders } from './rate-limit-headers.ts';

test('spans are written as OpenAI writes them, rounded up', () => {
  const cases: readonly (readonly [number, string])[] = [
    [0, '0s'],
    [-5, '0s'],
    [0.2, '1ms'],
    [120, '120ms'],
    [1000, '1s'],
    [1001, '2s'],
    [59_001, '1m0s'],
    [360_000, '6m0s'],
    [3_605_000, '1h0m5s'],
    [31 * 86_400_000, '744h0m0s'],
  ];
  for (const [ms, text] of cases) assert.equal(formatSpan(ms), text);
});

const state = (unit: LimitUnit, limit: number, remaining: number, resetMs: number): LimitState => ({
  line: { scope: 'tenant', unit, window: { kind: 'sliding', seconds: 60 }, limit },
  remaining,
  resetMs,
});

test('one set of headers a unit: the line with the least left, then the longest wait', () => {
  assert.deepEqual(rateLimitHeaders([]), []);
  assert.deepEqual(
    rateLimitHeaders([
      state('tokens', 100, 50, 10),
      state('tokens', 900, 7, 1000),
      state('tokens', 800, 7, 360_000),
      state('requests', 5, 4, 1),
    ]),
    [
      ['x-ratelimit-limit-requests', '5'],
      ['x-ratelimit-remaining-requests', '4'],
      ['x-ratelimit-reset-requests', '1ms'],
      ['x-ratelimit-limit-tokens', '800'],
      ['x-ratelimit-remaining-tokens', '7'],
      ['x-ratelimit-reset-tokens', '6m0s'],
    ],
  );
});
