import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidArgumentError } from 'commander';
import fc from 'fast-check';
import type { LimitRule } from '../core/directory.ts';
import type { LimitWindow } from '../core/limit.ts';
import { decimal, formatLimit, parseAmount, parseLimit } from './limit-words.ts';

const window = fc.oneof<fc.Arbitrary<LimitWindow>[]>(
  fc.integer({ min: 1, max: 86_400 }).map((seconds) => ({ kind: 'sliding', seconds })),
  fc.constantFrom<LimitWindow>(
    { kind: 'calendar', unit: 'day' },
    { kind: 'calendar', unit: 'month', zone: 'Europe/Berlin' },
    { kind: 'concurrent' },
  ),
);
const rule: fc.Arbitrary<LimitRule> = fc.record(
  {
    unit: fc.constantFrom('requests' as const, 'tokens' as const, 'spend' as const),
    window,
    limit: fc.integer({ min: 0, max: 1_000_000_000_000 }),
    model: fc.constantFrom(null, 'm', 'org/model-7b:latest', 'a@b+c'),
  },
  { noNullPrototype: true },
);

test('what is shown is what is read', () => {
  fc.assert(
    fc.property(rule, (one) => assert.deepEqual(parseLimit(formatLimit(one)), one)),
    { numRuns: 300 },
  );
});

test('words of limits', () => {
  assert.deepEqual(parseLimit('tokens/hour=5'), {
    unit: 'tokens',
    window: { kind: 'sliding', seconds: 3600 },
    limit: 5,
    model: null,
  });
  assert.equal(parseLimit('spend/month=12.5').limit, 12_500_000);
  for (const odd of [
    '',
    'tokens',
    'tokens/day',
    'tokens/day=',
    'tokens/day=1.5',
    'tokens/day=-1',
    'words/day=1',
    'tokens/week=1',
    'tokens/500ms=1',
    'tokens/minute=1,zone=UTC',
    'tokens/day=1,x=y',
    'tokens/day=1,model=',
    'spend/day=1.1234567',
  ])
    assert.throws(() => parseLimit(odd), InvalidArgumentError, odd);
});

test('amounts are exact', () => {
  assert.equal(parseAmount('0.000001'), 1);
  assert.equal(parseAmount('999999999.999999'), 999_999_999_999_999);
  assert.deepEqual([0, 1, 1_000_000, 10_000_000, 12_500_000].map(decimal), ['0', '0.000001', '1', '10', '12.5']);
  for (const odd of ['', '.5', '1,5', '1e3', '-1', '1.'])
    assert.throws(() => parseAmount(odd), InvalidArgumentError, odd);
});
