import { Command } from 'commander';
import type { Answer } from '../admin-client.ts';
import { pathOf } from '../admin-client.ts';
import { adminCommand, formatOf, openAdmin, watchOption, type AdminFlags } from '../admin-command.ts';
import { bar, renderRows, type Column } from '../output.ts';
import { printable } from '../printable.ts';
import { field } from '../records.ts';
import { processTerminal, type Terminal } from '../terminal.ts';
import { show } from '../watch.ts';

interface ExplainFlags extends AdminFlags {
  readonly watch?: boolean;
  readonly tenant: string;
  readonly endpoint?: string;
  readonly type?: string;
  readonly class?: string;
  readonly prompt?: string;
  readonly session?: string;
  readonly stream?: boolean;
  readonly promptTokens?: string;
  readonly maxTokens?: string;
  readonly timeoutMs?: string;
  readonly tier?: string;
  readonly line?: string;
  readonly canary?: boolean;
}

const term = (name: string): Column<Answer> => ({
  title: name,
  name,
  value: (row) => text((row['terms'] as Answer | null)?.[name]),
});
const COLUMNS: readonly Column<Answer>[] = [
  { title: '#', name: 'place', value: (row) => text(row['place']) },
  field('deployment'),
  field('reason'),
  term('cost'),
  term('latency'),
  term('quality'),
  field('utility', 'score'),
  field('value', 'less load'),
  field('health'),
  field('running'),
  { title: 'warm', name: 'warm', value: (row) => text(row['warm']) },
  field('estimate_ms', 'ms'),
  field('estimate_cost_micros', 'cost µ'),
  field('weight'),
  { title: 'load', name: null, value: (row) => bar(Math.min(1, Number(row['load'])), 1) },
];

/** `tokenlat route`: why requests go where they go. */
export function routeCommand(terminal: Terminal = processTerminal): Command {
  return new Command('route').description('say why requests go where they go').addCommand(explainCommand(terminal));
}

function explainCommand(terminal: Terminal): Command {
  return watchOption(adminCommand('explain', 'show what would be decided now on a request, with every candidate'))
    .argument('<model>', 'name that a client would ask for; auto leaves the choice to the routes')
    .requiredOption('--tenant <name>', 'whose request it would be')
    .option('--endpoint <name>', 'chat, completions or embeddings')
    .option('--type <type>', 'as in x-request-type')
    .option('--class <name>', 'as in x-request-class')
    .option('--prompt <text>', 'what the user says, for classifiers and warm caches')
    .option('--session <id>', 'as in x-session-id')
    .option('--stream', 'answered piece by piece')
    .option('--prompt-tokens <count>', 'size of the prompt; default: 100')
    .option('--max-tokens <count>', 'bound of the answer')
    .option('--timeout-ms <ms>', 'how long it may take')
    .option('--tier <tier>', "default: the tenant's")
    .option('--line <name>', "business line; default: the tenant's")
    .option('--canary', 'with the scope canary')
    .action(async (model: string, flags: ExplainFlags) => {
      const client = await openAdmin(flags, terminal);
      const format = formatOf(flags);
      const path = `${pathOf('explain')}?${queryOf(model, flags).toString()}`;
      await show(terminal, flags, async () => {
        const { body } = await client.get(path);
        const rows = Array.isArray(body['candidates']) ? (body['candidates'] as readonly Answer[]) : [];
        const table = renderRows({ format, columns: COLUMNS, rows, body });
        return format === 'table' ? `${headline(body)}\n${rows.length > 0 ? table : ''}` : table;
      });
    });
}

function queryOf(model: string, flags: ExplainFlags): URLSearchParams {
  const query = new URLSearchParams({ model });
  const set = (name: string, value: string | boolean | undefined): void => {
    if (value !== undefined) query.set(name, String(value));
  };
  set('tenant', flags.tenant);
  set('endpoint', flags.endpoint);
  set('type', flags.type);
  set('class', flags.class);
  set('prompt', flags.prompt);
  set('session', flags.session);
  set('stream', flags.stream);
  set('prompt_tokens', flags.promptTokens);
  set('max_tokens', flags.maxTokens);
  set('timeout_ms', flags.timeoutMs);
  set('tier', flags.tier);
  set('business_line', flags.line);
  set('canary', flags.canary);
  return query;
}

function headline(body: Answer): string {
  const refused = body['refused'] as Answer | null;
  if (refused !== null)
    return `refused: ${printable(refused['status'])} ${printable(refused['code'])}: ${printable(refused['message'])}`;
  const instead =
    body['fallback_reason'] === null ? '' : `, another one than usual: ${printable(body['fallback_reason'])}`;
  return `route ${printable(body['route'])} (${printable(body['reason'])})${instead}${classWords(body['class'] as Answer | null)}\n${printable(body['words'])}`;
}

function classWords(found: Answer | null): string {
  if (found === null) return '';
  return `, class ${printable(found['class'])} of ${printable(found['classifier'])} by ${printable(found['by'])}`;
}

function text(value: unknown): string {
  return value === null || value === undefined ? '' : printable(value);
}
