import { Command } from 'commander';
import { openReading } from '../../app/open-reading.ts';
import { printable } from '../printable.ts';
import { table } from '../table.ts';
import { UserError } from '../user-error.ts';

interface Recorded {
  readonly [key: string]: unknown;
}

/** `tokenlat trace ID`: what each station did to a recent request. */
export function traceCommand(): Command {
  return new Command('trace')
    .description('show what each station did to a recent request')
    .argument('<request-id>', 'the x-request-id of its answer')
    .option('-c, --config <file>', 'configuration file', 'tokenlat.yaml')
    .option('--state <folder>', 'state folder of a running `tokenlat up`', '.tokenlat')
    .option('--json', 'print the events as JSON lines')
    .action(async (id: string, { config, state, json = false }: { config: string; state: string; json?: boolean }) => {
      const reading = await openReading(config, state);
      try {
        const found = await reading.traces.get(id);
        if (found.length === 0)
          throw new UserError(
            `no recent request has the id ${printable(id)} (traces are kept for ledger.keep, and are not written while Redis is away: the log has them)`,
          );
        for (const trace of found) process.stdout.write(`${json ? JSON.stringify(trace) : describe(trace)}\n`);
      } finally {
        await reading.close();
      }
    });
}

function describe(trace: Recorded): string {
  const list = (key: string): readonly Recorded[] => (Array.isArray(trace[key]) ? (trace[key] as Recorded[]) : []);
  const usage = (trace['usage'] ?? {}) as Recorded;
  const head = [
    `request   ${printable(trace['request_id'])}  ${printable(trace['started'])}  ${printable(trace['method'])} ${printable(trace['path'])}`,
    `who       tenant ${printable(trace['tenant'])}, subject ${printable(trace['subject'])}`,
    `outcome   ${printable(trace['outcome'])}, status ${printable(trace['status'])}${trace['error'] === null ? '' : `, ${printable(trace['error'])}`}, ${printable(trace['total_ms'])} ms`,
    `route     ${printable(trace['route'])} → ${printable(trace['model'])} on ${printable(trace['backend'])}`,
    `tokens    ${printable(usage['prompt_tokens'])} + ${printable(usage['completion_tokens'])}${usage['estimated'] === true ? ' (estimated)' : ''}, cost ${printable(trace['cost'])} ${printable(trace['currency'])}`,
  ];
  const stations = table(
    ['station', 'µs', 'decision', 'reason'],
    list('stations').map((row) => [row['station'], row['micros'], row['decision'], row['reason']]),
  );
  const attempts = table(
    ['attempt', 'backend', 'model', 'outcome', 'status', 'reason'],
    list('attempts').map((row) => [
      row['attempt'],
      row['backend'],
      row['model'],
      row['outcome'],
      row['status'],
      row['reason'],
    ]),
  );
  return [...head, '', stations, ...(list('attempts').length === 0 ? [] : ['', attempts]), ''].join('\n');
}
