import assert from 'node:assert/strict';
import { test } from 'node:test';
import { microUnits } from '../../core/money.ts';
import type { SpendRow } from '../../core/ports/spend-reader.ts';
import { cliKit } from '../cli-kit.test.ts';
import { budgetCommand } from './budget.ts';
import { linesCommand } from './lines.ts';
import { tenantsCommand } from './tenants.ts';

const row = (day: string, cost: number, keys: SpendRow['keys'] = {}, currency = 'USD'): SpendRow => ({
  at: Date.parse(`${day}T00:00:00Z`),
  keys: { tenant: 'acme', business_line: 'default', charged_to: 'tenant', ...keys },
  currency,
  requests: 1,
  promptTokens: 1,
  cachedTokens: 0,
  completionTokens: 1,
  cost: microUnits(cost),
});
const ROWS = [
  row('2026-11-01', 40_000_000),
  row('2026-11-30', 10_000_000, { business_line: 'search' }),
  row('2026-11-30', 7_000_000, { charged_to: 'gateway' }),
  row('2026-11-30', 9_000_000, { tenant: 'globex' }),
  row('2026-11-30', 3_000_000, {}, 'EUR'),
];
const kit = await cliKit({ spend: { spend: async () => ROWS, top: async () => [], verify: async () => [] } });

test('set makes a budget, then finds it again by tenant, line and period', async () => {
  await kit.run(tenantsCommand, ['set', 'acme']);
  await kit.run(linesCommand, ['set', 'acme', 'search']);
  const made = await kit.run(budgetCommand, ['set', 'acme', '--amount', '200', '--alerts', '50,90']);
  assert.equal(made.error, null);
  assert.match(made.out, /^period +month$/m);
  assert.match(made.out, /^amount +200$/m);
  const changed = await kit.run(budgetCommand, ['set', 'acme', '--amount', '100.5', '--json']);
  assert.deepEqual(
    [changed.json()['amount_micros'], changed.json()['version'], changed.json()['alerts_at']],
    [100_500_000, 2, [50, 90]],
  );
  assert.equal(kit.seen.at(-1)?.headers['if-match'], '"1"');
  await kit.run(budgetCommand, ['set', 'acme', '--line', 'search', '--period', 'day', '--amount', '8']);
  const none = await kit.run(budgetCommand, ['set', 'acme', '--period', 'day', '--alerts', '80']);
  assert.match(none.error?.message ?? '', /name its --amount/);
  const { json } = await kit.run(budgetCommand, ['list', '--json']);
  assert.equal((json()['data'] as unknown[]).length, 2);
});

test('what was spent is that of tenant, line, period and currency, and not what the gateway bears', async () => {
  const { out } = await kit.run(budgetCommand, ['list']);
  assert.match(out, /acme +month +50 +100\.5 +USD +\[#{9}\.{11}\] +49 % +50 90$/m);
  assert.match(out, /acme +search +day +10 +8 +USD +\[#{20}\] 125 % +80 100$/m);
  const asked = kit.seen.findLast(({ url }) => url.startsWith('/admin/spend'))?.url ?? '';
  assert.match(asked, /from=2026-11-01&to=2026-12-01/);
});

test('which day it is depends on the zone of the ledger', async () => {
  const time = (): number => Date.parse('2026-11-30T23:30:00Z');
  await kit.run(budgetCommand, ['list', '--zone', 'Europe/Berlin'], { time });
  const asked = kit.seen.findLast(({ url }) => url.startsWith('/admin/spend'))?.url ?? '';
  assert.match(asked, /from=2026-12-01&to=2026-12-02/);
  const odd = await kit.run(budgetCommand, ['list', '--zone', 'Nowhere/Town']);
  assert.equal(odd.error?.name, 'CommanderError');
});

test('of several alike, one must be named; a budget of another tenant is not touched', async () => {
  const { json } = await kit.run(budgetCommand, ['list', '--json']);
  const first = (json()['data'] as { id: string; business_line: string | null }[]).find(
    (one) => one.business_line === null,
  );
  const id = first?.id ?? '';
  const body = { tenant: 'acme', period: 'month', amount_micros: 5 };
  await kit.call('POST', '/admin/budgets', { body });
  const several = await kit.run(budgetCommand, ['set', 'acme', '--amount', '1']);
  assert.match(several.error?.message ?? '', /several such budgets.*--id/);
  const named = await kit.run(budgetCommand, ['set', 'acme', '--id', id, '--amount', '1', '--json']);
  assert.equal(named.json()['amount_micros'], 1_000_000);
  const other = await kit.run(budgetCommand, ['set', 'globex', '--id', id, '--amount', '2']);
  assert.match(other.error?.message ?? '', /not a budget of this tenant/);
  assert.equal((await kit.run(budgetCommand, ['delete', id])).error, null);
  assert.equal(await kit.directory.get('budget', id), null);
});
