import { Command, InvalidArgumentError, Option } from 'commander';
import {
  adminCommand,
  formatOf,
  ledgerZone,
  openAdmin,
  wordList,
  zoneOption,
  type AdminFlags,
} from '../admin-command.ts';
import { pathOf, type AdminClient, type Answer } from '../admin-client.ts';
import { decimal, parseAmount } from '../limit-words.ts';
import { bar, jsonText, renderRows, showRecord, type Column } from '../output.ts';
import { changeRecord, deleteRecord, field, givenOf } from '../records.ts';
import { processTerminal, type Terminal } from '../terminal.ts';
import { UserError } from '../user-error.ts';
import { watch } from '../watch.ts';
import { dayAfter, dayOf } from '../zone-day.ts';

interface ListFlags extends AdminFlags {
  readonly tenant?: string;
  readonly zone?: string;
  readonly watch?: boolean;
}

interface SetFlags extends AdminFlags {
  readonly id?: string;
  readonly line?: string;
  readonly period?: string;
  readonly amount?: number;
  readonly currency?: string;
  readonly alerts?: readonly number[];
}

const micros = (record: Answer, name: string): number => Number(record[name] ?? 0);
const NAMED = [field('id'), field('tenant'), field('business_line', 'line'), field('period')];
const ALERTS = field('alerts_at', 'alerts at %');

/** `tokenlat budget`: what a tenant or a line may spend, and what it has. */
export function budgetCommand(terminal: Terminal = processTerminal): Command {
  return new Command('budget')
    .description('manage budgets')
    .addCommand(listCommand(terminal))
    .addCommand(setCommand(terminal))
    .addCommand(
      adminCommand('delete', 'delete a budget')
        .argument('<id>', 'id of the budget')
        .action(async (id: string, flags: AdminFlags) => {
          const body = await deleteRecord(openAdmin(flags, terminal), pathOf('budgets', id));
          terminal.out(formatOf(flags) === 'json' ? jsonText(body) : '');
        }),
    );
}

function listCommand(terminal: Terminal): Command {
  return zoneOption(adminCommand('list', 'list budgets, with what was spent of them'))
    .option('--tenant <name>', 'only of this tenant')
    .option('--watch', 'again each second, until Ctrl-C')
    .action(async (flags: ListFlags) => {
      const client = openAdmin(flags, terminal);
      const format = formatOf(flags);
      const zone = ledgerZone(flags, terminal);
      const draw = async (): Promise<string> => {
        const rows = await budgetsWithSpending(client, { tenant: flags.tenant, zone, time: terminal.time() });
        return renderRows({ format, columns: listColumns(format === 'table'), rows });
      };
      if (flags.watch === true) await watch(terminal, draw);
      else terminal.out(await draw());
    });
}

function listColumns(forEyes: boolean): readonly Column<Answer>[] {
  const share = (row: Answer): string => bar(micros(row, 'spent_micros'), micros(row, 'amount_micros'));
  const amounts = [
    money('spent', 'spent_micros', forEyes),
    money('amount', 'amount_micros', forEyes),
    field('currency', ''),
  ];
  return [...NAMED, ...amounts, { title: '', name: null, value: share }, ALERTS];
}

/** Eyes read a decimal, programs whole micro-units. */
function money(title: string, name: string, forEyes: boolean): Column<Answer> {
  return { title, name, value: (row) => (forEyes ? decimal(micros(row, name)) : micros(row, name)) };
}

/** Budgets, each with `spent_micros` of its period so far: what tenants were charged, in the budget's own currency. */
async function budgetsWithSpending(
  client: AdminClient,
  { tenant, zone, time }: { readonly tenant: string | undefined; readonly zone: string; readonly time: number },
): Promise<readonly Answer[]> {
  const today = dayOf(time, zone);
  const from = `${today.slice(0, -2)}01`;
  const by = 'tenant,business_line,charged_to';
  const [budgets, spent] = await Promise.all([
    client.list(pathOf('budgets'), { tenant }),
    client.list(pathOf('spend'), { tenant, from, to: dayAfter(today, 1), unit: 'day', by, limit: 10_000 }),
  ]);
  return budgets.map((budget) => {
    const counts = (row: Answer): boolean => {
      const keys = (row['keys'] ?? {}) as Readonly<Record<string, string>>;
      return (
        keys['tenant'] === budget['tenant'] &&
        keys['charged_to'] !== 'gateway' &&
        row['currency'] === budget['currency'] &&
        (budget['business_line'] === null || keys['business_line'] === budget['business_line']) &&
        (budget['period'] === 'month' || dayOf(Date.parse(String(row['at'])), zone) === today)
      );
    };
    const sum = spent.filter(counts).reduce((total, row) => total + micros(row, 'cost_micros'), 0);
    return { ...budget, spent_micros: sum };
  });
}

function setCommand(terminal: Terminal): Command {
  return adminCommand('set', 'make a budget, or change what is named of it')
    .argument('<tenant>', 'whose budget it is')
    .option('--line <name>', 'of this business line; default: of the whole tenant')
    .addOption(new Option('--period <period>', 'for which time; default: month').choices(['day', 'month']))
    .option('--amount <amount>', 'how much, in units of the currency: 250 or 12.50', parseAmount)
    .option('--currency <code>', 'default: USD')
    .option(
      '--alerts <list>',
      'percentages at which to raise an alert, comma-separated; default: 70,90,100',
      parseAlerts,
    )
    .option('--id <id>', 'change this one; default: the one of that tenant, line and period')
    .action(async (tenant: string, flags: SetFlags) => {
      const client = openAdmin(flags, terminal);
      const changes = givenOf({ amount_micros: flags.amount, currency: flags.currency, alerts_at: flags.alerts });
      const body = await setBudget(client, tenant, flags, changes);
      const format = formatOf(flags);
      const columns = [...NAMED, money('amount', 'amount_micros', format === 'table'), field('currency'), ALERTS];
      showRecord(terminal, { format, columns: [...columns, field('version'), field('updated_at')], row: body });
    });
}

async function setBudget(client: AdminClient, tenant: string, flags: SetFlags, changes: Answer): Promise<Answer> {
  const { line = null, period = 'month' } = flags;
  const id = flags.id ?? (await findBudget(client, { tenant, line, period }));
  if (id === null) {
    if (flags.amount === undefined) throw new UserError('there is no such budget yet: name its --amount');
    return await client.write('POST', pathOf('budgets'), { body: { tenant, business_line: line, period, ...changes } });
  }
  const at = pathOf('budgets', id);
  const found = await client.get(at);
  if (found.body['tenant'] !== tenant) throw new UserError(`${id} is not a budget of this tenant`);
  if (flags.line !== undefined && found.body['business_line'] !== flags.line)
    throw new UserError(`${id} is not a budget of this line, and a budget keeps its line`);
  const named = flags.id === undefined ? {} : givenOf({ period: flags.period });
  return await changeRecord(client, at, found, { ...named, ...changes });
}

async function findBudget(
  client: AdminClient,
  { tenant, line, period }: { readonly tenant: string; readonly line: string | null; readonly period: string },
): Promise<string | null> {
  const all = await client.list(pathOf('budgets'), { tenant });
  const same = all.filter((budget) => budget['business_line'] === line && budget['period'] === period);
  const ids = same.map((budget) => String(budget['id']));
  if (ids.length > 1) throw new UserError(`there are several such budgets: name one with --id (${ids.join(', ')})`);
  return ids[0] ?? null;
}

function parseAlerts(text: string): readonly number[] {
  return wordList(text).map((word) => {
    if (!/^\d{1,4}$/.test(word)) throw new InvalidArgumentError('Percentages are written 70,90,100.');
    return Number(word);
  });
}
