import { type Command, InvalidArgumentError, Option } from 'commander';
import { NO_AUDIT } from '../../core/audit-settings.ts';
import { adminCommand, formatOf, openAdmin, wholeNumber, type AdminFlags } from '../admin-command.ts';
import { pathOf, type AdminClient, type Answer } from '../admin-client.ts';
import { showRows, type Cell, type Column } from '../output.ts';
import type { Terminal } from '../terminal.ts';
import { UserError } from '../user-error.ts';

interface ListFlags extends AdminFlags {
  readonly tenant?: string;
  readonly kind?: string;
  readonly from?: string;
  readonly to?: string;
  readonly number: number;
}

/** Entries of one answer of the API, at most. */
const PAGE = 200;
const MOST = 10_000;

/** `tokenlat audit list`: what the gateway that serves the API has in its audit log. */
export function auditListCommand(terminal: Terminal): Command {
  return adminCommand('list', 'list the audit of a running gateway by its admin API, newest first')
    .option('--tenant <name>', 'only what names this tenant')
    .addOption(new Option('--kind <kind>', 'only of this kind').choices(['request', 'admin', 'system']))
    .option('--from <time>', 'then or later: 2027-01-31, in UTC, or RFC 3339', parseTime)
    .option('--to <time>', 'before then', parseTime)
    .option('-n, --number <count>', 'how many', wholeNumber(1, MOST), 50)
    .action(async (flags: ListFlags) => {
      const client = await openAdmin(flags, terminal);
      const rows = await entriesOf(client, flags);
      if (rows.length === 0) await requireAudit(client);
      showRows(terminal, { format: formatOf(flags), columns: COLUMNS, rows });
    });
}

/** Nothing there, or nothing kept? */
async function requireAudit(client: AdminClient): Promise<void> {
  const { body } = await client.get(pathOf('status'));
  if (body['audit'] === null) throw new UserError(NO_AUDIT);
}

async function entriesOf(
  client: AdminClient,
  { tenant, kind, from, to, number }: ListFlags,
): Promise<readonly Answer[]> {
  const entries: Answer[] = [];
  let cursor: string | undefined;
  while (entries.length < number) {
    const limit = Math.min(PAGE, number - entries.length);
    const { body } = await client.get(pathOf('audit'), { tenant, kind, from, to, limit, cursor });
    entries.push(...((body['data'] ?? []) as readonly Answer[]));
    const next = body['next_cursor'];
    if (typeof next !== 'string' || next === cursor) break;
    cursor = next;
  }
  return entries;
}

/** The first of these facts that the entry has. */
function fact(title: string, name: string, ...more: readonly string[]): Column<Answer> {
  const names = [name, ...more];
  const value = (entry: Answer): Cell => {
    const facts = (entry['facts'] ?? {}) as Answer;
    const found = names.map((each) => facts[each]).find((each) => each !== undefined && each !== null);
    if (typeof found === 'string' || typeof found === 'number' || typeof found === 'boolean') return found;
    return found === undefined || found === null ? null : JSON.stringify(found);
  };
  return { title, name, value };
}

const COLUMNS: readonly Column<Answer>[] = [
  { title: 'at', name: 'at', value: ({ at }) => String(at) },
  { title: 'kind', name: 'kind', value: ({ kind }) => String(kind) },
  fact('what', 'action', 'event', 'requested_model'),
  fact('outcome', 'outcome'),
  fact('status', 'status'),
  fact('code', 'code', 'error'),
  fact('who', 'caller', 'subject'),
  fact('tenant', 'tenant'),
  fact('on', 'target', 'model'),
  fact('request', 'request_id'),
];

function parseTime(text: string): string {
  const time = /^\d{4}-\d\d-\d\d(?:T.+(?:Z|[+-]\d\d:\d\d))?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(time)) return new Date(time).toISOString();
  throw new InvalidArgumentError('A time is written 2027-01-31 or 2027-01-31T00:00:00Z.');
}
