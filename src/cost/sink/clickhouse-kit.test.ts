import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

type Row = Readonly<Record<string, unknown>>;

interface Table {
  readonly columns: Map<string, string>;
  readonly key: readonly string[];
  readonly rows: Row[];
}

/** What the next statement meets: `applied` dies after the work is done, as a connection may. */
export type Fault = 'unavailable' | 'reset' | 'applied' | 'late-exception' | 'hang';

export interface FakeClickHouse {
  readonly url: string;
  readonly statements: string[];
  readonly faults: Fault[];
  /** As `SELECT * FROM table FINAL`: the last row of each sorting key. */
  readonly final: (table: string) => Row[];
  readonly rows: (table: string) => Row[];
  readonly forget: () => void;
  readonly close: () => Promise<void>;
}

class Refusal extends Error {
  readonly status: number;
  readonly code: number;
  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The HTTP interface of ClickHouse as far as the sink uses it, and strict about that. */
export async function startFakeClickHouse(login: {
  readonly user: string;
  readonly password: string;
}): Promise<FakeClickHouse> {
  const tables = new Map<string, Table>();
  const statements: string[] = [];
  const faults: Fault[] = [];
  const server = http.createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const fault = faults.shift();
      if (fault === 'hang') return;
      if (fault === 'reset') return void request.socket.destroy();
      if (fault === 'unavailable') return void response.writeHead(503).end('upstream is away');
      if (fault === 'late-exception')
        return void response.writeHead(200).end('Code: 241. DB::Exception: Memory limit exceeded');
      try {
        answer(request, Buffer.concat(pieces).toString());
      } catch (reason) {
        const { status, code, message } = reason instanceof Refusal ? reason : new Refusal(500, 49, String(reason));
        response.writeHead(status, { 'x-clickhouse-exception-code': String(code) });
        return void response.end(`Code: ${code}. DB::Exception: ${message} (VERSION)`);
      }
      if (fault === 'applied') return void request.socket.destroy();
      response.writeHead(200, { 'x-clickhouse-summary': '{}' }).end();
    });
  });

  function answer(request: http.IncomingMessage, body: string): void {
    const { user, password } = login;
    const { headers, method, url = '' } = request;
    if (headers['x-clickhouse-user'] !== user || headers['x-clickhouse-key'] !== password)
      throw new Refusal(403, 516, `${user}: Authentication failed`);
    if (method !== 'POST') throw new Refusal(405, 164, 'readonly');
    const parameters = new URL(url, 'http://x').searchParams;
    for (const name of parameters.keys())
      if (!['database', 'query', 'wait_end_of_query'].includes(name))
        throw new Refusal(404, 115, `Unknown setting ${name}`);
    const query = parameters.get('query');
    statements.push(query ?? body);
    if (query === null) define(body);
    else insert(query, body);
  }

  function define(statement: string): void {
    const create =
      /^CREATE TABLE IF NOT EXISTS `(\w+)`\.`(\w+)` \(\n([^]*)\n\) ENGINE = (\w*)ReplacingMergeTree\nPARTITION BY toYYYYMM\(time\)\nORDER BY \((.*)\)(?:\nTTL .*)?$/.exec(
        statement,
      );
    if (create !== null) {
      const columns = new Map((create[3] ?? '').split(',\n').map(columnOf));
      const key = (create[5] ?? '').split(', ');
      if (!tables.has(create[2] ?? '')) tables.set(create[2] ?? '', { columns, key, rows: [] });
      return;
    }
    const alter = /^ALTER TABLE `\w+`\.`(\w+)` (.*)$/.exec(statement);
    if (alter !== null) {
      for (const part of (alter[2] ?? '').split(', ADD COLUMN IF NOT EXISTS ')) {
        const [name, type] = columnOf(part.replace('ADD COLUMN IF NOT EXISTS ', ''));
        const { columns } = tableOf(alter[1]);
        if (!columns.has(name)) columns.set(name, type);
      }
      return;
    }
    const view = /^CREATE VIEW IF NOT EXISTS `\w+`\.`\w+` AS SELECT \* FROM `\w+`\.`(\w+)` FINAL$/.exec(statement);
    if (view === null) throw new Refusal(400, 62, `Syntax error: ${statement.slice(0, 200)}`);
    tableOf(view[1]);
  }

  function tableOf(name: string | undefined): Table {
    const table = tables.get(name ?? '');
    if (table === undefined) throw new Refusal(404, 60, `Table default.${name} does not exist`);
    return table;
  }

  function insert(query: string, body: string): void {
    const [, name, list] = /^INSERT INTO `\w+`\.`(\w+)` \((.*)\) FORMAT JSONEachRow$/.exec(query) ?? [];
    if (name === undefined) throw new Refusal(400, 62, `Syntax error: ${query}`);
    const { columns, rows } = tableOf(name);
    const named = (list ?? '').split(', ').map((quoted) => quoted.slice(1, -1));
    for (const column of named) if (!columns.has(column)) throw new Refusal(404, 16, `No such column ${column}`);
    // Of a batch that cannot be read, nothing is taken.
    const read = body.split('\n').map((line) => {
      const row = JSON.parse(line) as Row;
      for (const [column, value] of Object.entries(row)) {
        if (!named.includes(column))
          throw new Refusal(400, 117, `Unknown field found while parsing JSONEachRow: ${column}`);
        if (!fits(value, columns.get(column) ?? ''))
          throw new Refusal(400, 27, `Cannot parse input: ${column}=${String(value)}`);
      }
      return row;
    });
    rows.push(...read);
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    statements,
    faults,
    rows: (name) => tableOf(name).rows,
    final: (name) => {
      const { key, rows } = tableOf(name);
      const day = (row: Row) => String(row['time']).slice(0, 10);
      const keyOf = (row: Row) => JSON.stringify(key.map((part) => (part === 'toDate(time)' ? day(row) : row[part])));
      return [...new Map(rows.map((row) => [keyOf(row), row])).values()];
    },
    forget: () => {
      tables.clear();
      statements.length = 0;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function columnOf(text: string): [string, string] {
  const [, name = '', type = ''] = /^\s*`(\w+)` (.+)$/.exec(text) ?? [];
  if (name === '') throw new Refusal(400, 62, `Syntax error: ${text}`);
  return [name, type];
}

function fits(value: unknown, type: string): boolean {
  const inner = /^Nullable\((.*)\)$/.exec(type)?.[1];
  if (inner !== undefined) return value === null || fits(value, inner);
  switch (type) {
    case 'String':
    case 'LowCardinality(String)':
      return typeof value === 'string';
    case 'Int64':
      return Number.isSafeInteger(value);
    case 'Float64':
      return typeof value === 'number';
    case 'Bool':
      return typeof value === 'boolean';
    case "DateTime64(3, 'UTC')":
      return typeof value === 'string' && /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/.test(value);
    default:
      throw new Refusal(400, 50, `Unknown data type family: ${type}`);
  }
}
