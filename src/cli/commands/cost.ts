import { Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../../config/units.ts';
import {
  adminCommand,
  formatOf,
  ledgerZone,
  openAdmin,
  watchOption,
  wordList,
  zoneOption,
  type AdminFlags,
} from '../admin-command.ts';
import { pathOf, type Answer } from '../admin-client.ts';
import { bar, renderRows, type Column } from '../output.ts';
import { printable } from '../printable.ts';
import { field } from '../records.ts';
import { processTerminal, type Terminal } from '../terminal.ts';
import { show } from '../watch.ts';
import { dayAfter, dayOf } from '../zone-day.ts';
import { exportCommand } from './cost-export.ts';
import { acceptLossCommand, rebuildCommand } from './cost-loss.ts';
import { sinkCommand } from './cost-sink.ts';
import { reconcileCommand } from './cost-reconcile.ts';
import { verifyCommand } from './cost-verify.ts';

interface ReportFlags extends AdminFlags {
  readonly by?: readonly string[];
  readonly since: number;
  readonly unit: 'day' | 'hour';
  readonly tenant?: string;
  readonly zone?: string;
  readonly watch?: boolean;
  readonly html?: string;
}

const DIMENSIONS = ['model', 'backend', 'business_line', 'request_type', 'tenant', 'charged_to'];
const FIGURES = [
  field('requests'),
  field('prompt_tokens', 'prompt'),
  field('cached_tokens', 'cached'),
  field('completion_tokens', 'completion'),
  field('cost'),
  field('currency', ''),
];
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** `tokenlat cost`: what was spent, and whether the books are right. */
export function costCommand(terminal: Terminal = processTerminal): Command {
  return new Command('cost')
    .description('look at spending, export the ledger, check it, mend it')
    .addCommand(reportCommand(terminal))
    .addCommand(verifyCommand(terminal))
    .addCommand(exportCommand(terminal))
    .addCommand(reconcileCommand(terminal))
    .addCommand(sinkCommand(terminal))
    .addCommand(rebuildCommand(terminal))
    .addCommand(acceptLossCommand(terminal));
}

function reportCommand(terminal: Terminal): Command {
  return watchOption(zoneOption(adminCommand('report', 'show what was spent, by hour or day')))
    .option('--by <list>', `comma-separated, of ${DIMENSIONS.join(', ')}; default: all together`, parseBy)
    .addOption(
      new Option('--html <file>', 'write a page with charts, budgets and the dearest requests').conflicts([
        'by',
        'csv',
        'json',
        'watch',
      ]),
    )
    .addOption(
      new Option('--since <duration>', 'how far back, the running hour or day included')
        .argParser(parseSince)
        .default(7 * DAY_MS, '7d'),
    )
    .addOption(new Option('--unit <unit>', 'by which time').choices(['day', 'hour']).default('day'))
    .option('--tenant <name>', 'only of this tenant')
    .action(async (flags: ReportFlags) => {
      const client = await openAdmin(flags, terminal);
      const { by = [], tenant, unit, html } = flags;
      if (html !== undefined) {
        const { htmlReport, writeReport } = await import('./cost-report-html.ts');
        const zone = await ledgerZone(client, flags);
        const range = { ...rangeOf(flags, terminal, zone), unit };
        writeReport(html, await htmlReport(client, { range, tenant, zone, now: terminal.time() }));
        terminal.out(`wrote ${printable(html)}\n`);
        return;
      }
      const zone = unit === 'day' ? await ledgerZone(client, flags) : 'UTC';
      await show(terminal, flags, async () => {
        const query = {
          ...rangeOf(flags, terminal, zone),
          unit,
          tenant,
          by: by.length === 0 ? undefined : by.join(','),
        };
        const found = await client.list(pathOf('spend'), { ...query, limit: 10_000 });
        const rows = found.map((row): Answer => ({ ...row, ...(row['keys'] as Answer | undefined) }));
        const columns = [field('at', unit), ...by.map((key) => field(key)), ...FIGURES, shareOf(found)];
        return renderRows({ format: formatOf(flags), columns, rows, body: { object: 'list', data: found } });
      });
    });
}

/** A row's part of everything in its currency. */
function shareOf(all: readonly Answer[]): Column<Answer> {
  const costOf = (row: Answer): number => Number(row['cost_micros'] ?? 0);
  const sums = new Map<unknown, number>();
  for (const row of all) sums.set(row['currency'], (sums.get(row['currency']) ?? 0) + costOf(row));
  const value = (row: Answer): string => {
    const sum = sums.get(row['currency']) ?? 0;
    return sum > 0 ? bar(costOf(row), sum) : '';
  };
  return { title: 'share', name: null, value };
}

/** `1d` is today, `7d` is today and the six days before. */
function rangeOf(flags: ReportFlags, terminal: Terminal, zone: string): { readonly from: string; readonly to: string } {
  const now = terminal.time();
  if (flags.unit === 'hour') {
    const end = Math.floor(now / HOUR_MS) + 1;
    const hour = (at: number): string => new Date(at * HOUR_MS).toISOString();
    return { from: hour(end - Math.ceil(flags.since / HOUR_MS)), to: hour(end) };
  }
  const end = dayAfter(dayOf(now, zone), 1);
  return { from: dayAfter(end, -Math.ceil(flags.since / DAY_MS)), to: end };
}

function parseBy(text: string): readonly string[] {
  const words = [...new Set(wordList(text))];
  const odd = words.find((word) => !DIMENSIONS.includes(word));
  if (odd === undefined) return words;
  throw new InvalidArgumentError(`"${odd}" is none of ${DIMENSIONS.join(', ')}.`);
}

function parseSince(text: string): number {
  const ms = parseDuration(text);
  if (ms !== null && ms > 0) return ms;
  throw new InvalidArgumentError('A duration is written 24h or 7d.');
}
