import { Command, InvalidArgumentError, Option } from 'commander';
import { adminCommand, formatOf, openAdmin, watchOption, wordList, type AdminFlags } from '../admin-command.ts';
import { pathOf, type AdminClient, type Answer } from '../admin-client.ts';
import { decimal, parseAmount } from '../limit-words.ts';
import { bar, jsonText, renderRows, showRecord, type Cell, type Column } from '../output.ts';
import { changeRecord, deleteRecord, field, givenOf } from '../records.ts';
import { processTerminal, type Terminal } from '../terminal.ts';
import { UserError, WordsError } from '../user-error.ts';
import { show } from '../watch.ts';

interface ListFlags extends AdminFlags {
  readonly tenant?: string;
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
          const body = await deleteRecord(await openAdmin(flags, terminal), pathOf('budgets', id));
          terminal.out(formatOf(flags) === 'json' ? jsonText(body) : '');
        }),
    );
}

function listCommand(terminal: Terminal): Command {
  return watchOption(adminCommand('list', 'list budgets: what was spent, how long it lasts, who is in protection'))
    .option('--tenant <name>', 'only of this tenant')
    .action(async (flags: ListFlags) => {
      const client = await openAdmin(flags, terminal);
      const format = formatOf(flags);
      await show(terminal, flags, async () => {
        const rows = await client.list(pathOf('budgets'), { tenant: flags.tenant });
        return renderRows({ format, columns: listColumns(format === 'table'), rows });
      });
    });
}

/** Of where a budget stands; null where that cannot be measured. */
const standing = (row: Answer, name: string): Cell => {
  const state = row['state'] as Readonly<Record<string, Cell>> | null | undefined;
  return state?.[name] ?? null;
};

function listColumns(forEyes: boolean): readonly Column<Answer>[] {
  const state = (title: string, name: string): Column<Answer> => ({ title, name, value: (row) => standing(row, name) });
  const amount = (title: string, name: string): Column<Answer> => ({
    title,
    name,
    value: (row) => {
      const value = standing(row, name);
      return forEyes && typeof value === 'number' ? decimal(value) : value;
    },
  });
  const share = (row: Answer): string => {
    const spent = standing(row, 'spent_micros');
    return typeof spent === 'number' ? bar(spent, micros(row, 'amount_micros')) : 'another currency than prices';
  };
  const protection = (row: Answer): Cell => {
    const on = standing(row, 'protected');
    return forEyes ? (on === true ? 'protected' : '') : on;
  };
  return [
    ...NAMED,
    amount('spent', 'spent_micros'),
    money('amount', 'amount_micros', forEyes),
    field('currency', ''),
    { title: '', name: null, value: share },
    ...(forEyes ? [] : [state('percent', 'percent')]),
    amount('forecast', 'forecast_micros'),
    state('used up', 'exhausted_at'),
    { title: 'protection', name: 'protected', value: protection },
    ALERTS,
  ];
}

/** Eyes read a decimal, programs whole micro-units. */
function money(title: string, name: string, forEyes: boolean): Column<Answer> {
  return { title, name, value: (row) => (forEyes ? decimal(micros(row, name)) : micros(row, name)) };
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
      const client = await openAdmin(flags, terminal);
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
    if (flags.amount === undefined) throw new WordsError('there is no such budget yet: name its --amount');
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
  if (ids.length > 1) throw new WordsError(`there are several such budgets: name one with --id (${ids.join(', ')})`);
  return ids[0] ?? null;
}

function parseAlerts(text: string): readonly number[] {
  return wordList(text).map((word) => {
    if (!/^\d{1,4}$/.test(word)) throw new InvalidArgumentError('Percentages are written 70,90,100.');
    return Number(word);
  });
}
