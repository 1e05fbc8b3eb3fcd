import { Command, Option } from 'commander';
import type { LimitRule } from '../../core/directory.ts';
import { adminCommand, formatOf, openAdmin, repeated, wordList, type AdminFlags } from '../admin-command.ts';
import { pathOf } from '../admin-client.ts';
import { LIMIT_FORM } from '../limit-words.ts';
import { jsonText, showRecord, showRows } from '../output.ts';
import { deleteRecord, field, givenOf, limitsField, limitsOf, parseLimitOrNone, setRecord } from '../records.ts';
import { processTerminal, type Terminal } from '../terminal.ts';

interface SetFlags extends AdminFlags {
  readonly costTier?: string;
  readonly limit?: readonly (LimitRule | null)[];
  readonly channels?: readonly string[];
}

const LIST = [field('tenant'), field('name'), field('cost_tier'), limitsField('limits'), field('channels')];
const RECORD = [...LIST, field('version'), field('created_at'), field('updated_at')];

/** `tokenlat lines`: business lines of a tenant. */
export function linesCommand(terminal: Terminal = processTerminal): Command {
  return new Command('lines')
    .description('manage the business lines of a tenant')
    .addCommand(
      adminCommand('list', 'list the lines of a tenant')
        .argument('<tenant>', 'its name')
        .action(async (tenant: string, flags: AdminFlags) => {
          const rows = await (await openAdmin(flags, terminal)).list(pathOf('tenants', tenant, 'lines'));
          showRows(terminal, { format: formatOf(flags), columns: LIST, rows });
        }),
    )
    .addCommand(setCommand(terminal))
    .addCommand(
      adminCommand('delete', 'delete a line; its limits and cost tier are gone')
        .argument('<tenant>', 'its tenant')
        .argument('<line>', 'its name')
        .action(async (tenant: string, line: string, flags: AdminFlags) => {
          const body = await deleteRecord(await openAdmin(flags, terminal), pathOf('tenants', tenant, 'lines', line));
          terminal.out(formatOf(flags) === 'json' ? jsonText(body) : '');
        }),
    );
}

function setCommand(terminal: Terminal): Command {
  return adminCommand('set', 'make a line, or change what is named of it')
    .argument('<tenant>', 'its tenant')
    .argument('<line>', 'its name')
    .addOption(
      new Option('--cost-tier <tier>', 'only candidates of this rank or cheaper').choices([
        'core',
        'standard',
        'economy',
      ]),
    )
    .option(
      '--limit <limit>',
      `instead of those before; again for more, or "none": ${LIMIT_FORM}`,
      repeated(parseLimitOrNone),
    )
    .option('--channels <list>', 'where alerts of its budgets go, comma-separated', wordList)
    .action(async (tenant: string, line: string, flags: SetFlags) => {
      const changes = givenOf({
        cost_tier: flags.costTier,
        limits: limitsOf(flags.limit),
        channels: flags.channels,
      });
      const create = { path: pathOf('tenants', tenant, 'lines'), body: { name: line } };
      const at = pathOf('tenants', tenant, 'lines', line);
      const body = await setRecord(await openAdmin(flags, terminal), { at, changes, create });
      showRecord(terminal, { format: formatOf(flags), columns: RECORD, row: body });
    });
}
