import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { AuditReader } from '../../app/read-audit.ts';
import { printable } from '../printable.ts';
import { table } from '../table.ts';
import { processTerminal, type Terminal } from '../terminal.ts';
import { UserError } from '../user-error.ts';
import { auditListCommand } from './audit-list.ts';

/** The log is not what was written. */
const EXIT_NOT_VERIFIED = 4;

type Report = Awaited<ReturnType<AuditReader['verify']>>;
type Found = Awaited<ReturnType<AuditReader['find']>>[number];

/** What reads it is loaded with the first command that does. */
async function readAudit(
  { config, state }: { readonly config: string; readonly state: string },
  publicKeys: readonly string[],
): Promise<AuditReader> {
  const reading = await import('../../app/read-audit.ts');
  return reading.readAudit(config, publicKeys, state);
}

/** `tokenlat audit`: verify, export and show the audit log where it lies; list it by the admin API. */
export function auditCommand(terminal: Terminal = processTerminal): Command {
  const command = new Command('audit').description(
    'verify, export and show the audit log, or list it by the admin API',
  );
  command.addCommand(verifyCommand());
  command.addCommand(exportCommand());
  command.addCommand(showCommand());
  command.addCommand(auditListCommand(terminal));
  return command;
}

function withConfig(name: string): Command {
  return new Command(name)
    .option('-c, --config <file>', 'configuration file', 'tokenlat.yaml')
    .option('--state <folder>', 'state folder of a running `tokenlat up`', '.tokenlat');
}

function verifyCommand(): Command {
  return withConfig('verify')
    .description(
      `check every record against its chain and the signed checkpoints (exit code ${EXIT_NOT_VERIFIED} when something is wrong)`,
    )
    .option('--public-key <file...>', 'public keys of the checkpoints; default: the one beside audit.key_file')
    .option('--json', 'print the report as JSON')
    .action(async (words: { config: string; state: string; publicKey?: string[]; json?: boolean }) => {
      const { publicKey = [], json = false } = words;
      const report = await (await readAudit(words, publicKey)).verify();
      process.stdout.write(json ? `${JSON.stringify(report)}\n` : describeReport(report));
      if (!report.ok) process.exitCode = EXIT_NOT_VERIFIED;
    });
}

interface ExportWords {
  readonly config: string;
  readonly state: string;
  readonly model?: string;
  readonly tenant?: string;
  readonly requestId?: string;
  readonly from?: number;
  readonly to?: number;
  readonly format: 'jsonl' | 'csv';
  readonly output?: string;
}

function exportCommand(): Command {
  return withConfig('export')
    .description('write the records of requests as JSON lines or CSV')
    .option('--model <name>', 'asked for, or answered by')
    .option('--tenant <name>')
    .option('--request-id <id>')
    .option('--from <time>', 'ISO 8601, this time included', parseTime)
    .option('--to <time>', 'ISO 8601, this time not included', parseTime)
    .addOption(new Option('--format <format>').choices(['jsonl', 'csv']).default('jsonl'))
    .option('-o, --output <file>', 'default: standard output')
    .action(async ({ config, state, format, output, ...filter }: ExportWords) => {
      const reader = await readAudit({ config, state }, []);
      const to = output === undefined ? process.stdout : createWriteStream(output, { mode: 0o600 });
      const { records, unreadable } = await reader.export({ ...filter, kind: 'request' }, format, to);
      if (output !== undefined) await finished(to.end());
      const bad = unreadable === 0 ? '' : `; ${unreadable} bytes are no record: run tokenlat audit verify`;
      process.stderr.write(`${records} records${bad}\n`);
    });
}

interface ShowWords {
  readonly config: string;
  readonly state: string;
  readonly prompts?: boolean;
  readonly json?: boolean;
}

function showCommand(): Command {
  return withConfig('show')
    .description('print what the log says of a request; without an id, what chains there are')
    .argument('[request-id]', 'the x-request-id of its answer')
    .option('--prompts', 'decrypt prompts with audit.prompt_key')
    .option('--json', 'print JSON')
    .action(async (id: string | undefined, words: ShowWords) => {
      const { prompts = false, json = false } = words;
      const reader = await readAudit(words, []);
      if (id === undefined) {
        const { chains } = await reader.verify();
        process.stdout.write(json ? `${JSON.stringify(chains)}\n` : `${describeChains(chains)}\n`);
        return;
      }
      const found = await reader.find({ requestId: id });
      if (found.length === 0) throw new UserError(`the audit log has no record of ${printable(id)}`);
      for (const one of found) {
        process.stdout.write(json ? `${one.text}\n` : describeRecord(one));
        const sealed = one.record.facts['prompt'];
        if (prompts && sealed !== undefined && sealed !== null)
          process.stdout.write(`${printable(reader.decrypt(sealed))}\n`);
      }
    });
}

function describeReport({ ok, records, faults, notes, chains, findings }: Report): string {
  const lines = [describeChains(chains), ''];
  if (findings.length > 0) {
    const rows = findings.map(({ fault, kind, chain, segment, seq, message }) => [
      fault ? 'FAULT' : 'note',
      kind,
      chain,
      segment,
      seq,
      message,
    ]);
    lines.push(table(['', 'what', 'chain', 'segment', 'record', 'finding'], rows), '');
    if (faults + notes > findings.length) lines.push(`and ${faults + notes - findings.length} more`, '');
  }
  for (const { chain, unproven, last } of chains.filter((candidate) => candidate.unproven > 0)) {
    lines.push(
      `not covered: records ${last - unproven + 1} to ${last} of ${printable(chain)} come after its last checkpoint. They hang together, but whoever can write to the folder could have replaced or cut them unseen.`,
    );
  }
  lines.push(ok ? `verified: ${records} records, no fault` : `NOT VERIFIED: ${faults} faults in ${records} records`);
  return `${lines.join('\n')}\n`;
}

function describeChains(chains: Report['chains']): string {
  return table(
    ['chain', 'files', 'records', 'first', 'last', 'proven to', 'not covered', 'from', 'to'],
    chains.map(({ chain, segments, records, first, last, proven, unproven, from, to }) => [
      chain,
      segments,
      records,
      first,
      last,
      proven,
      unproven,
      iso(from),
      iso(to),
    ]),
  );
}

function describeRecord({ record, hash }: Found): string {
  const { chain, seq, time, kind, facts } = record;
  const head: [string, unknown][] = [
    ['chain', chain],
    ['record', seq],
    ['hash', hash],
    ['time', iso(time)],
    ['kind', kind],
  ];
  const rows = [...head, ...Object.entries(facts)].map(([key, value]) => [
    key,
    typeof value === 'object' && value !== null ? JSON.stringify(value) : value,
  ]);
  return `${table(['fact', 'value'], rows)}\n\n`;
}

function iso(time: number | null): string {
  return time === null || Math.abs(time) > 8.64e15 ? '' : new Date(time).toISOString();
}

function parseTime(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new InvalidArgumentError('must be a time such as 2026-11-30 or 2026-11-30T09:00:00Z');
  return time;
}
