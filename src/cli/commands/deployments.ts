import { Argument, Command, InvalidArgumentError } from 'commander';
import { STAGES } from '../../core/stage.ts';
import { adminCommand, formatOf, openAdmin, type AdminFlags } from '../admin-command.ts';
import { pathOf } from '../admin-client.ts';
import { showRecord, showRows } from '../output.ts';
import { field, givenOf } from '../records.ts';
import { processTerminal, type Terminal } from '../terminal.ts';

interface StageFlags extends AdminFlags {
  readonly percent?: number;
}

const COLUMNS = [
  field('id'),
  field('zone'),
  field('stage'),
  field('percent'),
  field('configured_stage'),
  field('version'),
];

/** `tokenlat deployments`: where deployments stand. */
export function deploymentsCommand(terminal: Terminal = processTerminal): Command {
  return new Command('deployments')
    .description('look at deployments, and lead them from stage to stage')
    .addCommand(
      adminCommand('list', 'list deployments with their zones and stages').action(async (flags: AdminFlags) => {
        const rows = await (await openAdmin(flags, terminal)).list(pathOf('deployments'));
        showRows(terminal, { format: formatOf(flags), columns: COLUMNS, rows });
      }),
    )
    .addCommand(stageCommand(terminal));
}

function stageCommand(terminal: Terminal): Command {
  return adminCommand(
    'stage',
    'lead a deployment to another stage: gray, full, retired, and no way back but from retired to gray',
  )
    .argument('<deployment>', 'MODEL@BACKEND')
    .addArgument(new Argument('<stage>', 'where it shall stand').choices([...STAGES]))
    .option('--percent <percent>', 'of the subjects, while it is gray', parsePercent)
    .action(async (id: string, stage: string, flags: StageFlags) => {
      const client = await openAdmin(flags, terminal);
      const at = pathOf('deployments', id);
      const { etag } = await client.get(at, {});
      const body = await client.write('PATCH', at, { body: { stage, ...givenOf({ percent: flags.percent }) }, etag });
      showRecord(terminal, { format: formatOf(flags), columns: COLUMNS, row: body });
    });
}

/** `5`, `0.5` or `5%`. */
export function parsePercent(text: string): number {
  const value = /^\d{1,3}(?:\.\d{1,4})?%?$/.test(text) ? Number.parseFloat(text) : Number.NaN;
  if (value >= 0 && value <= 100) return value;
  throw new InvalidArgumentError('It must be a number from 0 to 100.');
}
