import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { LedgerEvent } from '../../core/ledger-event.ts';
import type { LedgerReader } from '../../core/ports/quota-store.ts';
import type { Snapshot } from '../../core/snapshot.ts';
import { BILL_MAPPINGS, type BillMappingName } from '../../cost/bill/bill-mapping.ts';
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
  readonly json?: boolean;
  readonly csv?: boolean;
}

const DAY_MS = 86_400_000;
const PAGE = 1000;

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
    .action(async (path: string, flags: ReconcileFlags) => {
      const rows = await compared(path, flags);
      const format = formatOf(flags);
      showRows(terminal, { format, columns: columnsOf(format === 'table'), rows });
      if (rows.some(({ reason }) => reason !== null && reason !== 'rounding')) process.exitCode = 1;
    });
}

async function compared(path: string, flags: ReconcileFlags): Promise<readonly ReconcileRow[]> {
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
  const { mapping, currency, utcOffset: utcOffsetMinutes } = flags;
  try {
    const { days } = readBill(bill, { mapping: BILL_MAPPINGS[mapping], utcOffsetMinutes, currency });
    const times = days.map(({ day }) => Date.parse(`${day}T00:00:00Z`)).toSorted((a, b) => a - b);
    // A day more at each end, for bills of other zones.
    const range = { from: (times[0] ?? 0) - DAY_MS, to: (times.at(-1) ?? 0) + 2 * DAY_MS };
    return await withBooks(flags, ({ ledger }) =>
      reconcile({
        bill,
        ledger: eventsOf(ledger, { ...range, backends }),
        mapping,
        models: Object.fromEntries(flags.model ?? []),
        utcOffsetMinutes,
        currency,
        priceOf: priceIn(snapshot),
      }),
    );
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

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
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

function parseOffset(text: string): number {
  const [, sign, hours, minutes] = /^([+-])(\d\d):([0-5]\d)$/.exec(text) ?? [];
  const offset = Number(hours) * 60 + Number(minutes);
  if (text === 'Z') return 0;
  if (sign === undefined || offset > 14 * 60) throw new InvalidArgumentError('An offset is written +02:00.');
  return sign === '-' ? -offset : offset;
}
