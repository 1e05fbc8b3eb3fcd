import { type Command, InvalidArgumentError } from 'commander';
import { parseDuration } from '../../config/units.ts';
import { type AdminClient, type Answer, pathOf } from '../admin-client.ts';
import { adminCommand, formatOf, openAdmin, readNamed, wholeNumber, type AdminFlags } from '../admin-command.ts';
import { type Column, type Format, jsonText, showRecord } from '../output.ts';
import { printable } from '../printable.ts';
import { field, givenOf } from '../records.ts';
import { processTerminal, type Terminal } from '../terminal.ts';
import { UserError, WordsError } from '../user-error.ts';
import { parsePercent } from './deployments.ts';

interface RolloutFlags extends AdminFlags {
  readonly percent?: number;
  readonly for?: number;
  readonly maxErrorIncrease?: number;
  readonly maxP95Ratio?: number;
  readonly minSamples?: number;
  readonly dryRun?: boolean;
}

const VERDICT: Column<Answer> = {
  title: 'verdict',
  name: 'verdict',
  value: ({ verdict }) => {
    const { kind, words } = (verdict ?? {}) as Answer;
    return typeof kind === 'string' ? `${kind}: ${String(words)}` : null;
  },
};
const COLUMNS: readonly Column<Answer>[] = [
  ...['id', 'status', 'reason', 'percent', 'started_at', 'ends_at', 'by', 'old', 'new'].map((name) => field(name)),
  VERDICT,
  field('digest'),
];
const MEANS: Readonly<Record<string, string>> = {
  percent: 'tried on a part of the requests',
  promotion: 'in force when it serves all',
};
const CURRENT = pathOf('rollouts', 'current');

/** `tokenlat config rollout`: a new configuration to a part of the subjects first, then to all. */
export function rolloutCommand(terminal: Terminal = processTerminal): Command {
  return startCommand(terminal)
    .addCommand(
      adminCommand('status', 'show how it goes').action(async (_own: AdminFlags, command: Command) => {
        const flags: AdminFlags = command.optsWithGlobals();
        const { body } = await current(await openAdmin(flags, terminal));
        show(terminal, formatOf(flags), body);
      }),
    )
    .addCommand(endCommand('abort', 'take it back: the file is in force for all', terminal))
    .addCommand(endCommand('promote', 'let it serve all now, whatever was seen', terminal));
}

function startCommand(terminal: Terminal): Command {
  return adminCommand('rollout', 'let a configuration serve a part of the subjects, and all when it is as good')
    .argument('[file]', 'the new configuration')
    .option('--percent <percent>', 'of the subjects, at first', parsePercent)
    .option('--for <duration>', 'how long: 30m', seconds)
    .option('--max-error-increase <points>', 'how much greater the percentage of failures may be; default: 0.5', number)
    .option('--max-p95-ratio <ratio>', 'how many times as long 95 % of the requests may take; default: 1.2', number)
    .option(
      '--min-samples <count>',
      'requests of each configuration without which it does not serve all; default: 100',
      wholeNumber(10, 1_000_000),
    )
    .option('--dry-run', 'only say what would be done')
    .action(async (file: string | undefined, flags: RolloutFlags) => {
      if (file === undefined) throw new WordsError('name the new configuration, or one of status, abort, promote');
      if (flags.percent === undefined || flags.for === undefined)
        throw new WordsError('name --percent and --for, such as --percent 5 --for 30m');
      const body = givenOf({
        config: readNamed(file),
        percent: flags.percent,
        for_seconds: flags.for,
        max_error_increase: flags.maxErrorIncrease,
        max_p95_ratio: flags.maxP95Ratio,
        min_samples: flags.minSamples,
        dry_run: flags.dryRun,
      });
      const answer = await (await openAdmin(flags, terminal)).write('POST', pathOf('rollouts'), { body });
      show(terminal, formatOf(flags), answer);
    });
}

function endCommand(name: 'abort' | 'promote', description: string, terminal: Terminal): Command {
  return adminCommand(name, description).action(async (_own: AdminFlags, command: Command) => {
    const flags: AdminFlags = command.optsWithGlobals();
    const client = await openAdmin(flags, terminal);
    await current(client);
    show(terminal, formatOf(flags), await client.write('POST', `${CURRENT}/${name}`));
  });
}

async function current(client: AdminClient): Promise<{ readonly body: Answer }> {
  const found = await client.find(CURRENT);
  if (found === null)
    throw new UserError('no configuration is rolled out: config rollout FILE --percent 5 --for 30m begins it');
  return found;
}

function show(terminal: Terminal, format: Format, body: Answer): void {
  if (format === 'json') {
    terminal.out(jsonText(body));
    return;
  }
  showRecord(terminal, { format, columns: COLUMNS, row: body });
  const { parts } = body;
  if (format !== 'table' || !Array.isArray(parts)) return;
  const lines = (parts as readonly Answer[]).map(
    ({ part, how }) => `  ${printable(part)}: ${MEANS[String(how)] ?? printable(how)}`,
  );
  terminal.out(`${['differs in', ...lines].join('\n')}\n`);
}

function seconds(text: string): number {
  const ms = parseDuration(text);
  if (ms === null || ms < 10_000) throw new InvalidArgumentError('It must be a duration such as 30m, at least 10s.');
  return Math.round(ms / 1000);
}

function number(text: string): number {
  const value = /^\d{1,6}(?:\.\d{1,4})?$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(value)) throw new InvalidArgumentError('It must be a number.');
  return value;
}
