import { Command } from 'commander';
import type { LimitRule } from '../../core/directory.ts';
import { adminCommand, formatOf, openAdmin, repeated, type AdminFlags } from '../admin-command.ts';
import { pathOf } from '../admin-client.ts';
import { LIMIT_FORM } from '../limit-words.ts';
import { jsonText, showRecord, showRows } from '../output.ts';
import { deleteRecord, field, givenOf, limitsField, limitsOf, parseLimitOrNone, setRecord } from '../records.ts';
import { processTerminal, type Terminal } from '../terminal.ts';

interface SetFlags extends AdminFlags {
  readonly tier?: string;
  readonly limit?: readonly (LimitRule | null)[];
  readonly subjectLimit?: readonly (LimitRule | null)[];
}

const LIST = [field('name'), field('tier'), limitsField('limits'), limitsField('subject_limits')];
const RECORD = [...LIST, field('version'), field('created_at'), field('updated_at')];

/** `tokenlat tenants`: who pays, and what each may take. */
export function tenantsCommand(terminal: Terminal = processTerminal): Command {
  return new Command('tenants')
    .description('manage tenants and their limits')
    .addCommand(
      adminCommand('list', 'list tenants').action(async (flags: AdminFlags) => {
        const rows = await (await openAdmin(flags, terminal)).list(pathOf('tenants'));
        showRows(terminal, { format: formatOf(flags), columns: LIST, rows });
      }),
    )
    .addCommand(
      adminCommand('show', 'show one tenant')
        .argument('<tenant>', 'its name')
        .action(async (tenant: string, flags: AdminFlags) => {
          const { body } = await (await openAdmin(flags, terminal)).get(pathOf('tenants', tenant));
          showRecord(terminal, { format: formatOf(flags), columns: RECORD, row: body });
        }),
    )
    .addCommand(setCommand(terminal))
    .addCommand(
      adminCommand('delete', 'delete a tenant that has no keys, lines and budgets any more')
        .argument('<tenant>', 'its name')
        .action(async (tenant: string, flags: AdminFlags) => {
          const body = await deleteRecord(await openAdmin(flags, terminal), pathOf('tenants', tenant));
          terminal.out(formatOf(flags) === 'json' ? jsonText(body) : '');
        }),
    );
}

function setCommand(terminal: Terminal): Command {
  const limit = repeated(parseLimitOrNone);
  return adminCommand('set', 'make a tenant, or change what is named of it')
    .argument('<tenant>', 'its name')
    .option('--tier <name>', 'its tier')
    .option(
      '--limit <limit>',
      `for all of it together, instead of those before; again for more, or "none": ${LIMIT_FORM}`,
      limit,
    )
    .option('--subject-limit <limit>', 'for each of its subjects, in the same way', limit)
    .action(async (tenant: string, flags: SetFlags) => {
      const changes = givenOf({
        tier: flags.tier,
        limits: limitsOf(flags.limit),
        subject_limits: limitsOf(flags.subjectLimit),
      });
      const create = { path: pathOf('tenants'), body: { name: tenant } };
      const at = pathOf('tenants', tenant);
      const body = await setRecord(await openAdmin(flags, terminal), { at, changes, create });
      showRecord(terminal, { format: formatOf(flags), columns: RECORD, row: body });
    });
}
