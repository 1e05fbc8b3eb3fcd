import type { Command } from 'commander';
import {
  adminCommand,
  formatOf,
  ledgerZone,
  openAdmin,
  watchOption,
  wholeNumber,
  zoneOption,
  type AdminFlags,
} from '../admin-command.ts';
import { pathOf, type Answer } from '../admin-client.ts';
import { gauge, renderRows, type Column } from '../output.ts';
import { field } from '../records.ts';
import { processTerminal, type Terminal } from '../terminal.ts';
import { show } from '../watch.ts';
import { dayOf, parseDay } from '../zone-day.ts';

interface TopFlags extends AdminFlags {
  readonly tenant?: string;
  readonly day?: string;
  readonly number: number;
  readonly zone?: string;
  readonly watch?: boolean;
}

const COLUMNS = [
  field('cost'),
  field('currency', ''),
  field('total_tokens', 'tokens'),
  field('model'),
  field('backend'),
  field('tenant'),
  field('business_line', 'line'),
  field('at'),
  field('request_id', 'request'),
];

/** `tokenlat top`: the dearest requests of a day. */
export function topCommand(terminal: Terminal = processTerminal): Command {
  return watchOption(zoneOption(adminCommand('top', 'show the dearest requests of a day')))
    .option('--day <day>', "a day (2027-01-31) of the ledger's zone; default: today", parseDay)
    .option('-n, --number <count>', 'how many', wholeNumber(1, 100), 10)
    .option('--tenant <name>', 'only of this tenant')
    .action(async (flags: TopFlags) => {
      const client = await openAdmin(flags, terminal);
      const zone = flags.day === undefined ? await ledgerZone(client, flags) : 'UTC';
      await show(terminal, flags, async () => {
        const day = flags.day ?? dayOf(terminal.time(), zone);
        const { body } = await client.get(pathOf('top'), { day, count: flags.number, tenant: flags.tenant });
        const rows = Array.isArray(body['data']) ? (body['data'] as readonly Answer[]) : [];
        return renderRows({ format: formatOf(flags), columns: [besideDearest(rows), ...COLUMNS], rows, body });
      });
    });
}

/** How dear a request is beside the dearest. */
function besideDearest(rows: readonly Answer[]): Column<Answer> {
  const costOf = (row: Answer): number => Number(row['cost_micros'] ?? 0);
  const dearest = Math.max(0, ...rows.map(costOf));
  return { title: '', name: null, value: (row) => (dearest > 0 ? gauge(costOf(row), dearest) : '') };
}
