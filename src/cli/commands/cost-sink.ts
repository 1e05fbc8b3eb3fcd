import { Command } from 'commander';
import type { LedgerSinkSettings, Snapshot } from '../../core/snapshot.ts';
import { formatOf, formatOptions } from '../admin-command.ts';
import { showRows, type Column } from '../output.ts';
import { parseTime } from '../parse-time.ts';
import type { Terminal } from '../terminal.ts';
import { UserError } from '../user-error.ts';
import { booksOptions, withBooks, type BooksFlags } from '../with-books.ts';

interface StatusFlags extends BooksFlags {
  readonly json?: boolean;
  readonly csv?: boolean;
}

interface ReplayFlags extends BooksFlags {
  readonly from?: number;
  readonly tenant?: string;
}

interface TenantRow {
  readonly tenant: string;
  readonly position: string | null;
  readonly booked: number;
  readonly unsent: number;
}

const COLUMNS: readonly Column<TenantRow>[] = [
  { title: 'tenant', name: 'tenant', value: (row) => row.tenant },
  { title: 'sent up to', name: 'position', value: (row) => row.position },
  { title: 'booked', name: 'booked', value: (row) => row.booked },
  { title: 'not sent', name: 'unsent', value: (row) => row.unsent },
];

/** `tokenlat cost sink`: how far the ledger is carried into its engine, and sending again. */
export function sinkCommand(terminal: Terminal): Command {
  return new Command('sink')
    .description('look at what carries the ledger beyond Redis (ledger.sink), make it send again')
    .addCommand(statusCommand(terminal))
    .addCommand(replayCommand(terminal));
}

function statusCommand(terminal: Terminal): Command {
  return formatOptions(booksOptions(new Command('status')))
    .description('show how far each tenant is sent, and how much waits')
    .action(async (flags: StatusFlags) => {
      const [{ measureLag }, { sinkPlace }] = await Promise.all([
        import('../../cost/sink/measure-lag.ts'),
        import('../../cost/sink/open-sink.ts'),
      ]);
      await withBooks(flags, async ({ ledger, positions, snapshot }) => {
        const place = sinkPlace(sinkOf(snapshot));
        const { tenants: reached } = await positions.load(place);
        const names = (await ledger.tenants()).toSorted();
        const booked = await ledger.booked(names);
        const lag = await measureLag(ledger, reached);
        const unsent = new Map(lag.tenants.map(({ tenant, events }) => [tenant, events]));
        const rows = names.map((tenant, at) => ({
          tenant,
          position: reached.get(tenant)?.id ?? null,
          booked: booked[at] ?? 0,
          unsent: unsent.get(tenant) ?? 0,
        }));
        const lagSeconds = lag.oldest === null ? 0 : Math.max(0, (terminal.time() - lag.oldest) / 1000);
        const body = { object: 'sink_status', place, lag_events: lag.events, lag_seconds: lagSeconds, data: rows };
        const format = formatOf(flags);
        if (format === 'table')
          terminal.out(`${place}: ${lag.events} events wait, the oldest for ${Math.round(lagSeconds)} s\n\n`);
        showRows(terminal, { format, columns: COLUMNS, rows, body });
      });
    });
}

function replayCommand(terminal: Terminal): Command {
  const changes = 'Moves positions back; the process that leads sends within ledger.sink.interval.';
  return booksOptions(new Command('replay'), changes)
    .description('send events again, after a table was lost; the engine counts each once')
    .option(
      '--from <time>',
      'booked then or later (2027-01-31, in UTC, or RFC 3339); default: all that Redis holds',
      parseTime,
    )
    .option('--tenant <name>', 'only of this tenant; default: of all')
    .action(async (flags: ReplayFlags) => {
      const [{ sinkPlace }, { rewindSink }] = await Promise.all([
        import('../../cost/sink/open-sink.ts'),
        import('../../cost/sink/rewind-sink.ts'),
      ]);
      const { from = null, tenant = null } = flags;
      const count = await withBooks(flags, ({ ledger, positions, snapshot }) =>
        rewindSink({ reader: ledger, positions, place: sinkPlace(sinkOf(snapshot)), from, tenant }),
      );
      terminal.out(`${count} ${count === 1 ? 'tenant is' : 'tenants are'} sent again\n`);
    });
}

function sinkOf({ ledger }: Snapshot): LedgerSinkSettings {
  if (ledger.sink === null) throw new UserError('the configuration has no ledger.sink');
  return ledger.sink;
}
