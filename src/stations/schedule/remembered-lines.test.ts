import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BudgetRecord, TenantRecord } from '../../core/directory.ts';
import type { DirectoryView } from '../../core/ports/directory-view.ts';
import type { Principal } from '../../core/principal.ts';
import { limitLines, type LimitsOf } from './limit-lines.ts';
import { rememberedLines } from './remembered-lines.ts';

const window = { kind: 'sliding', seconds: 60 } as const;
const config = {
  tenants: new Map(),
  tenantDefaults: { limits: [{ unit: 'requests', window, limit: 5, per: 'tenant' }] },
  ledger: { zone: 'UTC' },
} as unknown as LimitsOf['config'];
const principal = {
  tenant: 'acme',
  subject: 'ann',
  businessLine: 'x',
  keyId: null,
  limits: [],
} as unknown as Principal;

function directoryOf(record: object | null, budgets: readonly object[] = []): DirectoryView {
  return {
    tenant: () => record as TenantRecord | null,
    line: () => null,
    budgets: () => [...budgets] as BudgetRecord[],
  };
}

test('the lines of a caller are the same list until something that they depend on changes', () => {
  const none = directoryOf(null);
  const first = rememberedLines({ config, principal, directory: none }, 'm', 'm');
  assert.deepEqual(first, limitLines({ config, principal, directory: none, models: ['m', 'm'] }));
  assert.equal(rememberedLines({ config, principal, directory: directoryOf(null) }, 'm', 'm'), first);

  const rules = { limits: [{ unit: 'tokens', window, limit: 7, model: null }], subjectLimits: [] };
  const written = directoryOf(rules);
  const more = rememberedLines({ config, principal, directory: written }, 'm', 'm');
  assert.deepEqual(
    more.map(({ limit }) => limit),
    [5, 7],
  );
  assert.equal(rememberedLines({ config, principal, directory: written }, 'm', 'm'), more);

  const budget = { businessLine: null, period: 'month' };
  assert.equal(rememberedLines({ config, principal, directory: directoryOf(rules, [budget]) }, 'm', 'm').length, 3);
  const tighter = { ...config, tenantDefaults: { limits: [{ unit: 'requests', window, limit: 1, per: 'tenant' }] } };
  const changed = { config: tighter as unknown as LimitsOf['config'], principal, directory: none };
  assert.deepEqual(
    rememberedLines(changed, 'm', 'm').map(({ limit }) => limit),
    [1],
  );
});

test('limits of one model are not those of another', () => {
  const directory = directoryOf({ limits: [{ unit: 'tokens', window, limit: 7, model: 'm' }], subjectLimits: [] });
  assert.equal(rememberedLines({ config, principal, directory }, 'm', 'm').length, 2);
  assert.equal(rememberedLines({ config, principal, directory }, 'other', 'other').length, 1);
  assert.equal(rememberedLines({ config, principal, directory }, 'alias', 'm').length, 2);
});
