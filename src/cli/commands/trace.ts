import { Command } from 'commander';
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
      const { openReading } = await import('../../app/open-reading.ts');
      const reading = await openReading(config, state);
      try {
        const found = await reading.traces.get(id);
        if (found.length === 0)
          throw new UserError(
            `no recent request has the id ${printable(id)} (traces are kept for ledger.keep, and are not written while Redis is away: the log has them)`,
          );
        for (const trace of found) process.stdout.write(`${json ? JSON.stringify(trace) : describeTrace(trace)}\n`);
      } finally {
        await reading.close();
      }
    });
}

/** The trace of a request as lines for eyes. */
export function describeTrace(trace: Recorded): string {
  const list = (key: string): readonly Recorded[] => (Array.isArray(trace[key]) ? (trace[key] as Recorded[]) : []);
  const usage = (trace['usage'] ?? {}) as Recorded;
  const say = (label: string, ...words: readonly (string | null)[]): string | null => {
    const told = words.filter((word) => word !== null && word !== '');
    return told.length === 0 ? null : `${label.padEnd(10)}${told.join(' ')}`;
  };
  const word = (value: unknown, before = '', after = ''): string | null =>
    value === null || value === undefined || value === '' ? null : `${before}${printable(value)}${after}`;
  const head = [
    say('request', word(trace['request_id']), word(trace['started']), word(trace['method']), word(trace['path'])),
    say(
      'who',
      word(trace['tenant'], 'tenant '),
      word(trace['subject'], 'subject '),
      word(trace['business_line'], 'line '),
    ),
    say('asked', word(trace['requested_model'], 'model '), trace['stream'] === true ? 'as a stream' : null),
    say(
      'outcome',
      word(trace['outcome']),
      word(trace['status'], 'status '),
      word(trace['error']),
      word(trace['total_ms'], '', ' ms'),
    ),
    say('why', word(trace['error_message'])),
    say('route', word(trace['route']), word(trace['model'], '→ '), word(trace['backend'], 'on ')),
    say(
      'tokens',
      `${printable(usage['prompt_tokens'])} + ${printable(usage['completion_tokens'])}`,
      usage['estimated'] === true ? '(estimated)' : null,
      word(usage['flag'], 'marked '),
      word(trace['cost'], 'cost '),
      word(trace['currency']),
    ),
  ].filter((line) => line !== null);
  const stations = table(
    ['station', 'µs', 'decision', 'reason'],
    list('stations').map((row) => [row['station'], row['micros'], row['decision'], row['reason']]),
  );
  const attempts = table(
    ['attempt', 'backend', 'endpoint', 'model', 'outcome', 'status', 'at ms', 'head ms', 'reason'],
    list('attempts').map((row) => [
      row['attempt'],
      row['backend'],
      row['endpoint'] ?? '',
      row['model'],
      row['outcome'],
      row['status'],
      row['started_ms'],
      row['first_byte_ms'],
      row['reason'],
    ]),
  );
  return [...head, '', stations, ...(list('attempts').length === 0 ? [] : ['', attempts]), ''].join('\n');
}
