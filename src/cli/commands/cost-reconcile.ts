import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { LedgerEvent } from '../../core/ledger-event.ts';
import type { LedgerReader } from '../../core/ports/quota-store.ts';
import type { Snapshot } from '../../core/snapshot.ts';
import { BILL_MAPPINGS, type BillMapping, type BillMappingName } from '../../cost/bill/bill-mapping.ts';
import type { DecimalMark } from '../../cost/bill/notation.ts';
import type { ReconcileRow } from '../../cost/bill/reconcile.ts';
import { streamIdBefore } from '../../cost/export/stream-id-before.ts';
import { formatOf, formatOptions, repeated } from '../admin-command.ts';
import { decimal } from '../limit-words.ts';
import { showRows, type Cell, type Column } from '../output.ts';
import { printable } from '../printable.ts';
import type { Terminal } from '../terminal.ts';
import { UserError } from '../user-error.ts';
import { booksOptions, withBooks, type BooksFlags } from '../with-books.ts';

interface ReconcileFlags extends BooksFlags {
  readonly mapping: BillMappingName;
  readonly backend?: readonly string[];
  readonly model?: readonly (readonly [string, string])[];
  readonly utcOffset: number;
  readonly currency: string;
  readonly decimal?: DecimalMark;
  readonly column?: readonly (readonly [keyof BillMapping, string])[];
  readonly json?: boolean;
  readonly csv?: boolean;
}

const DAY_MS = 86_400_000;
const PAGE = 1000;
const COLUMN_WORDS: Readonly<Record<string, Exclude<keyof BillMapping, 'separator'>>> = {
  date: 'date',
  model: 'model',
  input_tokens: 'inputTokens',
  cached_tokens: 'cachedTokens',
  output_tokens: 'outputTokens',
  cost: 'cost',
  currency: 'currency',
};

/** `tokenlat cost reconcile bill.csv`: a provider's bill against the ledger. */
export function reconcileCommand(terminal: Terminal): Command {
  return formatOptions(booksOptions(new Command('reconcile')))
    .description("compare a provider's bill with the ledger, by day and model; 1 when more than rounding differs")
    .argument('<bill>', 'CSV file of the provider')
    .addOption(
      new Option('--mapping <name>', 'whose columns it has').choices(Object.keys(BILL_MAPPINGS)).default('generic'),
    )
    .option('--backend <name>', 'backend of that provider; again for more; default: all', repeated(String))
    .option('--model <theirs=ours>', 'a model that the bill calls otherwise; again for more', repeated(parseNames))
    .option('--utc-offset <offset>', "of the bill's days: +02:00", parseOffset, 0)
    .option('--currency <code>', 'of a bill that does not say', 'USD')
    .option(
      '--column <what=name>',
      `a column of another name: ${Object.keys(COLUMN_WORDS).join(', ')}; again for more`,
      repeated(parseColumn),
    )
    .addOption(
      new Option('--decimal <mark>', 'how it writes fractions; default: as its numbers show').choices([
        'point',
        'comma',
      ]),
    )
    .action(async (path: string, flags: ReconcileFlags) => {
      const rows = await compared(path, flags, terminal);
      const format = formatOf(flags);
      showRows(terminal, { format, columns: columnsOf(format === 'table'), rows });
      if (rows.some(({ reason }) => reason !== null && reason !== 'rounding')) process.exitCode = 1;
    });
}

async function compared(path: string, flags: ReconcileFlags, terminal: Terminal): Promise<readonly ReconcileRow[]> {
  const [{ load }, { readBill }, { BillError }, { reconcile }] = await Promise.all([
    import('../../app/load.ts'),
    import('../../cost/bill/read-bill.ts'),
    import('../../cost/bill/read-csv.ts'),
    import('../../cost/bill/reconcile.ts'),
  ]);
  const { snapshot } = load(flags.config);
  const backends = flags.backend === undefined ? null : new Set(flags.backend);
  for (const name of backends ?? [])
    if (!snapshot.backends.has(name)) throw new UserError(`the configuration has no backend ${printable(name)}`);
  const bill = readText(path);
  const { currency, utcOffset: utcOffsetMinutes } = flags;
  const mapping = mappingOf(flags);
  const decimal = flags.decimal === undefined ? {} : { decimal: flags.decimal };
  try {
    const { days } = readBill(bill, { mapping, utcOffsetMinutes, currency, ...decimal });
    const times = days.map(({ day }) => Date.parse(`${day}T00:00:00Z`)).toSorted((a, b) => a - b);
    // A day more at each end, for bills of other zones.
    const range = { from: (times[0] ?? 0) - DAY_MS, to: (times.at(-1) ?? 0) + 2 * DAY_MS };
    return await withBooks(flags, async ({ ledger }) => {
      await warnOfCut(ledger, range.from, terminal);
      const rows = await reconcile({
        bill,
        ledger: eventsOf(ledger, { ...range, backends }),
        mapping,
        models: Object.fromEntries(flags.model ?? []),
        utcOffsetMinutes,
        currency,
        ...decimal,
        priceOf: priceIn(snapshot),
      });
      warnOfCurrencies(rows, terminal);
      return rows;
    });
  } catch (error) {
    if (error instanceof BillError || error instanceof RangeError) throw new UserError(`${path}: ${error.message}`);
    throw error;
  }
}

/** What all tenants booked with these backends in a time, read page by page. */
async function* eventsOf(
  ledger: LedgerReader,
  { from, to, backends }: { readonly from: number; readonly to: number; readonly backends: ReadonlySet<string> | null },
): AsyncGenerator<LedgerEvent, void> {
  for (const tenant of await ledger.tenants()) {
    let after: string | null = streamIdBefore(from);
    while (after !== null) {
      const page: Awaited<ReturnType<LedgerReader['read']>> = await ledger.read(tenant, after, PAGE);
      for (const { event } of page)
        if (event.time >= from && event.time < to && (backends === null || backends.has(event.backend))) yield event;
      after = page.at(-1)?.id ?? null;
    }
  }
}

/** Today's price list: `costOf` finds the version of an event's time in it. */
function priceIn({ models }: Snapshot) {
  return ({ model, backend }: LedgerEvent) =>
    models.get(model)?.deployments.find((deployment) => deployment.backend.name === backend)?.price;
}

function columnsOf(forEyes: boolean): readonly Column<ReconcileRow>[] {
  const money = (value: number | null | undefined): Cell =>
    value === null || value === undefined ? null : forEyes ? decimal(value) : value;
  return [
    { title: 'day', name: 'day', value: (row) => row.day },
    { title: 'model', name: 'model', value: (row) => row.model },
    { title: 'billed in', name: 'bill_input', value: (row) => row.bill?.input ?? null },
    { title: 'booked in', name: 'ledger_input', value: (row) => row.ledger?.input ?? null },
    { title: 'billed out', name: 'bill_output', value: (row) => row.bill?.output ?? null },
    { title: 'booked out', name: 'ledger_output', value: (row) => row.ledger?.output ?? null },
    { title: 'billed', name: 'bill_cost_micros', value: (row) => money(row.bill?.cost) },
    { title: 'booked', name: 'ledger_cost_micros', value: (row) => money(row.ledger?.cost) },
    { title: 'difference', name: 'difference_micros', value: (row) => money(row.difference.cost) },
    { title: '', name: 'currency', value: (row) => row.currency },
    { title: 'reason', name: 'reason', value: (row) => row.reason },
  ];
}

/** The columns of `--mapping`, with those of `--column` in their place. */
function mappingOf({ mapping, column = [] }: ReconcileFlags): BillMapping {
  const named: Record<string, readonly string[]> = {};
  for (const [what, name] of column) named[what] = [...(named[what] ?? []), name];
  return { ...BILL_MAPPINGS[mapping], ...named };
}

/** What the ledger let go of cannot be told from what was never booked. */
async function warnOfCut(ledger: LedgerReader, from: number, terminal: Terminal): Promise<void> {
  const cut: string[] = [];
  for (const tenant of await ledger.tenants()) {
    const [first] = await ledger.read(tenant, null, 1);
    const booked = Number(first?.id.split('-')[0] ?? 0);
    if (first !== undefined && first.number !== 1 && booked > from + DAY_MS) cut.push(tenant);
  }
  if (cut.length === 0) return;
  const names = cut.slice(0, 5).map(printable).join(', ');
  terminal.err(
    `the ledger of ${names}${cut.length > 5 ? ' and others' : ''} begins later than the bill (ledger.max_events): what came before is missing_in_ledger\n`,
  );
}

/** Amounts are never converted: in two currencies nothing meets. */
function warnOfCurrencies(rows: readonly ReconcileRow[], terminal: Terminal): void {
  const of = (side: 'bill' | 'ledger'): ReadonlySet<string> =>
    new Set(rows.filter((row) => row[side] !== null).map(({ currency }) => currency));
  const [theirs, ours] = [of('bill'), of('ledger')];
  if (theirs.size === 0 || ours.size === 0 || [...theirs].some((currency) => ours.has(currency))) return;
  terminal.err(
    `the bill is in ${printable([...theirs].join(', '))}, the ledger in ${printable([...ours].join(', '))}: nothing is converted (--currency says what a bill is in that does not tell)\n`,
  );
}

/** UTF-8, or UTF-16 as spreadsheets save it. */
function readText(path: string): string {
  try {
    const bytes = readFileSync(path);
    if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
    return bytes.toString('utf8');
  } catch (error) {
    throw new UserError(`cannot read ${path} (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}

function parseNames(text: string): readonly [string, string] {
  const at = text.lastIndexOf('=');
  if (at < 1 || at === text.length - 1)
    throw new InvalidArgumentError('Write what the bill says = what the ledger says.');
  return [text.slice(0, at), text.slice(at + 1)];
}

function parseColumn(text: string): readonly [keyof BillMapping, string] {
  const [, word = '', name = ''] = /^([^=]*)=(.+)$/.exec(text) ?? [];
  const what = Object.hasOwn(COLUMN_WORDS, word) ? COLUMN_WORDS[word] : undefined;
  if (what !== undefined) return [what, name];
  throw new InvalidArgumentError(
    `Write what = the name of the column; what is ${Object.keys(COLUMN_WORDS).join(', ')}.`,
  );
}

function parseOffset(text: string): number {
  const [, sign, hours, minutes] = /^([+-])(\d\d):([0-5]\d)$/.exec(text) ?? [];
  const offset = Number(hours) * 60 + Number(minutes);
  if (text === 'Z') return 0;
  if (sign === undefined || offset > 14 * 60) throw new InvalidArgumentError('An offset is written +02:00.');
  return sign === '-' ? -offset : offset;
}
