import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STANDING } from '../../admin/admin-kit.test.ts';
import { microUnits } from '../../core/money.ts';
import type { BudgetStanding } from '../../core/ports/budget-state.ts';
import { cliKit } from '../cli-kit.test.ts';
import { budgetCommand } from './budget.ts';
import { linesCommand } from './lines.ts';
import { tenantsCommand } from './tenants.ts';

const standing = (change: Partial<BudgetStanding> = {}): BudgetStanding => ({ ...STANDING, ...change });
const kit = await cliKit({
  budgetStandings: async (budgets) =>
    new Map(
      budgets
        .filter(({ currency }) => currency === 'USD')
        .map(({ id, businessLine }) => [
          id,
          businessLine === null
            ? standing({
                spent: microUnits(50_000_000),
                percent: 49.7,
                forecast: microUnits(99_000_000),
                exhaustedAt: null,
              })
            : standing({ spent: microUnits(10_000_000), percent: 125, protecting: true }),
        ]),
    ),
});

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
  await kit.run(budgetCommand, [
    'set',
    'acme',
    '--line',
    'search',
    '--period',
    'day',
    '--amount',
    '8',
    '--alerts',
    '80,100',
  ]);
  const none = await kit.run(budgetCommand, ['set', 'acme', '--period', 'day', '--alerts', '80']);
  assert.match(none.error?.message ?? '', /name its --amount/);
  const { json } = await kit.run(budgetCommand, ['list', '--json']);
  assert.equal((json()['data'] as unknown[]).length, 2);
});

test('what was spent, how far it goes, when it ends and who is protected', async () => {
  const { out } = await kit.run(budgetCommand, ['list']);
  assert.match(out, /acme +month +50 +100\.5 +USD +\[#{9}\.{11}\] +49 % +99 +50 90$/m);
  assert.match(
    out,
    /acme +search +day +10 +8 +USD +\[#{20}\] 125 % +2\.400002 +2026-11-30T20:00:00\.000Z +protected +80 100$/m,
  );
});

test('programs get whole micro-units, and nothing for a budget that cannot be measured', async () => {
  await kit.run(budgetCommand, ['set', 'acme', '--period', 'day', '--amount', '1', '--currency', 'EUR']);
  const { out } = await kit.run(budgetCommand, ['list', '--csv']);
  const rows = out.split('\r\n').map((line) => line.split(',').slice(1));
  assert.deepEqual(rows[0], [
    'tenant',
    'business_line',
    'period',
    'spent_micros',
    'amount_micros',
    'currency',
    'percent',
    'forecast_micros',
    'exhausted_at',
    'protected',
    'alerts_at',
  ]);
  const texts = rows.map((row) => row.join());
  assert.ok(texts.includes('acme,,month,50000000,100500000,USD,49.7,99000000,,false,50 90'), out);
  assert.ok(texts.includes('acme,,day,,1000000,EUR,,,,,70 90 100'), out);
  const { out: eyes } = await kit.run(budgetCommand, ['list', '--tenant', 'acme']);
  assert.match(eyes, /EUR +another currency than prices/);
  const { json } = await kit.run(budgetCommand, ['list', '--json']);
  const [first] = json()['data'] as { state: { spent_micros: number } | null }[];
  assert.ok(first !== undefined && 'state' in first);
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
