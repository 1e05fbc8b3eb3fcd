import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SpendReader, SpendRow } from '../core/ports/spend-reader.ts';
import { spendVerificationLines, verifySpend } from './verify-spend.ts';

const row = (over: Partial<Record<keyof SpendRow, unknown>> = {}): SpendRow =>
  ({
    at: Date.UTC(2026, 5, 1),
    keys: { model: 'm', backend: 'b' },
    currency: 'USD',
    requests: 3,
    promptTokens: 10,
    cachedTokens: 0,
    completionTokens: 4,
    cost: 1_500_000,
    ...over,
  }) as SpendRow;

const readerOf = (differing: Awaited<ReturnType<SpendReader['verify']>>) => ({
  verify: async (tenant: string) => (tenant === 'acme' ? differing : []),
});

test('sums that are right need one line', async () => {
  const result = await verifySpend({ reader: readerOf([]), tenants: ['acme'] });
  assert.deepEqual(result, { consistent: true, tenants: 1, differences: [] });
  assert.deepEqual(spendVerificationLines(result), ['1 tenant: every sum is that of its events']);
});

test('each wrong sum says where it is and what it should be', async () => {
  const reader = readerOf([
    { stored: row(), events: row({ cost: 1_600_000, requests: 4 }) },
    { stored: null, events: row({ requests: 1, promptTokens: 0, completionTokens: 0, cost: 0 }) },
    { stored: row({ at: Date.UTC(2026, 5, 2) }), events: null },
    { stored: null, events: null },
  ]);
  const result = await verifySpend({ reader, tenants: ['acme', 'other'] });
  assert.equal(result.consistent, false);
  assert.deepEqual(
    result.differences.map(({ kind }) => kind),
    ['differs', 'missing', 'unfounded'],
  );
  assert.deepEqual(result.differences[0]?.figures, [
    { name: 'requests', stored: 3, events: 4 },
    { name: 'cost', stored: 1_500_000, events: 1_600_000 },
  ]);
  assert.deepEqual(spendVerificationLines(result), [
    'acme 2026-06-01T00:00:00.000Z model=m backend=b USD differs: requests 3 is 4 by events, cost 1.500000 is 1.600000 by events',
    'acme 2026-06-01T00:00:00.000Z model=m backend=b USD missing: requests 0 is 1 by events',
    'acme 2026-06-02T00:00:00.000Z model=m backend=b USD unfounded: requests 3 is 0 by events, promptTokens 10 is 0 by events, completionTokens 4 is 0 by events, cost 1.500000 is 0.000000 by events',
    '2 tenants: 3 sums are wrong',
  ]);
});

test('a store that is gone is no verdict', async () => {
  const reader = { verify: async () => Promise.reject(new Error('gone')) };
  await assert.rejects(verifySpend({ reader, tenants: ['acme'] }), /gone/);
});
