import type { LedgerEntry } from '../../core/ports/quota-store.ts';
import { type Cell, LEDGER_COLUMNS } from '../ledger-columns.ts';
import { type ClickHouseTable, insertStatement, tableStatements } from './clickhouse-table.ts';
import { type LedgerSink, SinkError } from './ledger-sink.ts';
import { postStatement, type StatementTarget } from './post-statement.ts';

export interface ClickHouseSinkOptions extends Partial<ClickHouseTable> {
  /** The HTTP interface: `https://host:8443`. Without a user in it. */
  readonly url: string;
  readonly user?: string | null;
  readonly password?: string | null;
  /** For one statement, its answer included. */
  readonly timeoutMs?: number;
  /** Off where the operator makes the table. Default: on. */
  readonly createTable?: boolean;
  /** Certificates, PEM, that vouch for the server instead of those of the system. */
  readonly ca?: string | null;
  /** May its address be link-local? Default: no. */
  readonly allowLinkLocal?: boolean;
}

const LONGEST_ERROR = 500;
/**
 * Codes of ClickHouse that pass by themselves, whatever the status: timeouts (159, 209), too many queries (202) or parts (252),
 * network (210), no Keeper (225, 999), memory (241), a replica that is read-only (242), an insert of unknown outcome (319).
 */
const PASSING = new Set([159, 202, 209, 210, 225, 241, 242, 252, 319, 999]);

/**
 * A sink into ClickHouse over its HTTP interface: one insert a batch, as JSON lines. An answer counts as taken only when it
 * is 200 and empty: ClickHouse may put an exception into the body of a 200. Throws `RangeError` for options that cannot be.
 */
export function createClickHouseSink(options: ClickHouseSinkOptions): LedgerSink {
  const { createTable = true, user = null, password = null } = options;
  const table = { ...options, database: options.database ?? 'default', table: options.table ?? 'tokenlat_ledger' };
  const base = endpointOf(options.url);
  const target: StatementTarget = {
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      ...(user === null ? {} : { 'x-clickhouse-user': user }),
      ...(password === null ? {} : { 'x-clickhouse-key': password }),
    },
    ca: options.ca ?? null,
    allowLinkLocal: options.allowLinkLocal ?? false,
    timeoutMs: options.timeoutMs ?? 30_000,
  };
  const statements = tableStatements(table);
  const insert = insertStatement(table);

  const run = async (query: string, body: string | null, signal: AbortSignal): Promise<void> => {
    const url = new URL(base);
    url.searchParams.set('database', table.database);
    // The status then speaks of the whole statement, not of its beginning.
    url.searchParams.set('wait_end_of_query', '1');
    if (body !== null) url.searchParams.set('query', query);
    const { status, headers, text } = await postStatement(url, body ?? query, target, signal).catch(
      (reason: unknown) => {
        throw new SinkError(`ClickHouse could not be asked: ${saidBy(reason)}`, { cause: reason, passing: true });
      },
    );
    const told = headers['x-clickhouse-exception-code'];
    const code = (typeof told === 'string' ? told : /^Code: (\d+)\./.exec(text)?.[1]) ?? null;
    if (status !== 200 || code !== null || text.trim() !== '') throw refusalOf(status, code, text);
  };

  return {
    name: 'clickhouse',
    place: clickHousePlace(table),
    prepare: async (signal) => {
      if (createTable) for (const statement of statements) await run(statement, null, signal);
    },
    write: async (entries, signal) => {
      if (entries.length > 0) await run(insert, entries.map(jsonRow).join('\n'), signal);
    },
  };
}

/** Names one table of one server, for positions. Throws `RangeError` for a URL that cannot be. */
export function clickHousePlace({
  url,
  database,
  table,
}: Pick<ClickHouseTable, 'database' | 'table'> & { readonly url: string }): string {
  const { host, pathname } = endpointOf(url);
  return `clickhouse ${host}${pathname} ${database}.${table}`;
}

function endpointOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new RangeError('the URL of ClickHouse must begin with http:// or https://');
  if (url.username !== '' || url.password !== '')
    throw new RangeError('give user and password apart from the URL of ClickHouse');
  return url;
}

/** Times as ClickHouse's basic form has them; numbers as they are, for all of them fit a double. */
function jsonRow(entry: LedgerEntry): string {
  const row: Record<string, Cell> = {};
  for (const { name, type, of } of LEDGER_COLUMNS) {
    const value = of(entry);
    row[name] = type === 'time' ? new Date(Number(value)).toISOString().replace('T', ' ').slice(0, -1) : value;
  }
  return JSON.stringify(row);
}

function refusalOf(status: number, code: string | null, text: string): SinkError {
  const passing = status === 200 || status >= 500 || status === 408 || status === 429 || PASSING.has(Number(code));
  const said = text.replaceAll(/\s+/g, ' ').slice(0, LONGEST_ERROR);
  return new SinkError(`ClickHouse answered ${status}${code === null ? '' : `, code ${code}`}: ${said}`, { passing });
}

function saidBy(reason: unknown): string {
  if (!(reason instanceof Error)) return String(reason);
  // An abort says only that it is one; what it was for stands in its cause.
  const { cause } = reason;
  return cause instanceof Error ? `${reason.message}: ${cause.message}` : reason.message;
}
