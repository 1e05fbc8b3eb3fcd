import type { Command } from 'commander';
import {
  adminCommand,
  formatOf,
  ledgerZone,
  openAdmin,
  wholeNumber,
  zoneOption,
  type AdminFlags,
} from '../admin-command.ts';
import { pathOf } from '../admin-client.ts';
import { showRows } from '../output.ts';
import { field } from '../records.ts';
import { processTerminal, type Terminal } from '../terminal.ts';
import { dayOf, parseDay } from '../zone-day.ts';

interface TopFlags extends AdminFlags {
  readonly tenant?: string;
  readonly day?: string;
  readonly number: number;
  readonly zone?: string;
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
  return zoneOption(adminCommand('top', 'show the dearest requests of a day'))
    .option('--day <day>', "a day (2027-01-31) of the ledger's zone; default: today", parseDay)
    .option('-n, --number <count>', 'how many', wholeNumber(1, 100), 10)
    .option('--tenant <name>', 'only of this tenant')
    .action(async (flags: TopFlags) => {
      const day = flags.day ?? dayOf(terminal.time(), ledgerZone(flags, terminal));
      const query = { day, count: flags.number, tenant: flags.tenant };
      const { body } = await openAdmin(flags, terminal).get(pathOf('top'), query);
      const rows = Array.isArray(body['data']) ? body['data'] : [];
      showRows(terminal, { format: formatOf(flags), columns: COLUMNS, rows, body });
    });
}
