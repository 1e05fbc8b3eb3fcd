import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { collect, entriesOf, ledgerEvent, readerOf } from '../cost-kit.test.ts';
import { exportLedger } from '../export/export-ledger.ts';
import { createClickHouseSink } from './clickhouse-sink.ts';
import { createLedgerFollower } from './ledger-follower.ts';
import { SinkError } from './ledger-sink.ts';

/** ClickHouse as a library (PyPI: chdb), behind the part of its HTTP interface that the sink uses. */
const SERVER = `
import re, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit
from chdb import session
engine = session.Session(sys.argv[1])
class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers['content-length'])).decode()
        query = parse_qs(urlsplit(self.path).query).get('query')
        try:
            said = str(engine.query(body if query is None else query[0] + '\\n' + body, 'JSONCompactEachRow'))
            self.reply(200, said, None)
        except Exception as error:
            code = re.search(r'Code: (\\d+)', str(error))
            self.reply(400, str(error), code.group(1) if code else '0')
    def reply(self, status, text, code):
        data = text.encode()
        self.send_response(status)
        self.send_header('content-length', str(len(data)))
        if code: self.send_header('x-clickhouse-exception-code', code)
        self.end_headers()
        self.wfile.write(data)
    def log_message(self, *_): pass
server = HTTPServer(('127.0.0.1', 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
`;

const python = process.env['TOKENLAT_CHDB_PYTHON'] ?? 'python3';
const isThere = spawnSync(python, ['-c', 'import chdb'], { timeout: 60_000 }).status === 0;
const skip = isThere ? false : 'no engine: TOKENLAT_CHDB_PYTHON may name a python that has the package chdb';
const never = new AbortController().signal;
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-chdb-'));

let server: ChildProcess | null = null;
let url = '';
before(async () => {
  if (!isThere) return;
  server = spawn(python, ['-c', SERVER, path.join(dir, 'data')], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = (await once(server.stdout!, 'data')) as [Buffer];
  url = `http://127.0.0.1:${port.toString().trim()}`;
});
after(() => {
  server?.kill('SIGKILL');
  fs.rmSync(dir, { recursive: true, force: true });
});

async function ask(query: string): Promise<unknown[][]> {
  const answer = await fetch(url, { method: 'POST', body: query });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown[]);
}

const odd = ledgerEvent({
  operation: 'odd',
  subject: 'a\n"b"\\c\u0000\ud800 \u{1f600}',
  usageFlag: 'flag',
  promptTokens: Number.MAX_SAFE_INTEGER,
  cost: Number.MAX_SAFE_INTEGER,
  audioPromptTokens: 3,
  time: Date.UTC(2026, 5, 30, 23, 59, 59, 999),
});
const expiry = ledgerEvent({ operation: 'late', attempt: 0, estimated: true, cost: 9 });
const reversal = ledgerEvent({
  operation: 'late',
  attempt: 0,
  estimated: true,
  promptTokens: -100,
  completionTokens: -10,
  cost: -9,
});
const ledger = entriesOf([odd, expiry, reversal, ledgerEvent({ operation: 'late', attempt: 1 })]);

test('the real engine takes the table, the rows and their repetition', { skip }, async () => {
  const sink = createClickHouseSink({ url, ttlDays: 3650 });
  await sink.prepare(never);
  await sink.prepare(never);
  for (let copies = 0; copies < 3; copies += 1) await sink.write(ledger.slice(copies === 1 ? 2 : 0), never);
  assert.deepEqual(await ask('SELECT count() FROM tokenlat_ledger_once'), [[4]]);
  const sums = 'toString(sum(cost_micro)), toString(sum(prompt_tokens)), toString(sum(audio_prompt_tokens))';
  assert.deepEqual(await ask(`SELECT ${sums} FROM tokenlat_ledger_once WHERE operation = 'late'`), [
    ['1000', '100', '0'],
  ]);
  const columns = 'subject, toString(cost_micro), usage_flag, toUnixTimestamp64Milli(time), first_token_ms, estimated';
  const [row] = await ask(`SELECT ${columns} FROM tokenlat_ledger_once WHERE operation = 'odd'`);
  assert.deepEqual(row?.slice(0, 3), ['a\n"b"\\c\u0000\ufffd \u{1f600}', '9007199254740991', 'flag']);
  assert.equal(Number(row?.[3]), odd.time);
  assert.deepEqual(row?.slice(4), [12.5, false]);
  await ask('OPTIMIZE TABLE tokenlat_ledger FINAL');
  assert.deepEqual(await ask('SELECT count(), uniqExact(operation, attempt, kind) FROM tokenlat_ledger'), [[4, 4]]);
});

test('a table of an older version gets its new columns', { skip }, async () => {
  const sink = createClickHouseSink({ url, table: 'older' });
  await sink.prepare(never);
  await ask('ALTER TABLE older DROP COLUMN cache_write_long_tokens');
  await assert.rejects(sink.write(ledger, never), (reason) => reason instanceof SinkError && !reason.passing);
  await sink.prepare(never);
  await sink.write(ledger, never);
  assert.deepEqual(await ask('SELECT count() FROM older_once'), [[4]]);
});

test('a follower that starts again from the beginning changes no sum', { skip }, async () => {
  const many = entriesOf(Array.from({ length: 3000 }, (_, at) => ledgerEvent({ operation: `op-${at}`, cost: at })));
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const positions = { load: async () => new Map<string, string>(), save: async () => {} };
  for (let runs = 0; runs < 2; runs += 1) {
    const sink = createClickHouseSink({ url, table: 'followed' });
    const follower = createLedgerFollower({ reader: readerOf({ acme: many }), sink, positions, log, batch: 700 });
    assert.equal(await follower.pass(), 3000);
    await follower.close();
  }
  const expected = String((2999 * 3000) / 2);
  assert.deepEqual(await ask('SELECT count(), toString(sum(cost_micro)) FROM followed_once'), [[3000, expected]]);
});

test('the engine reads an export in Parquet', { skip }, async () => {
  const file = path.join(dir, 'ledger.parquet');
  const pieces = await collect(
    exportLedger(readerOf({ acme: ledger }), { tenant: 'acme', from: 0, to: 9e15, format: 'parquet' }),
  );
  fs.writeFileSync(file, Buffer.concat(pieces));
  const columns = 'count(), toString(max(cost_micro)), countIf(usage_flag IS NULL), toUnixTimestamp64Milli(max(time))';
  const [row] = await ask(`SELECT ${columns} FROM file('${file}', 'Parquet')`);
  assert.deepEqual(row?.map(String), ['4', '9007199254740991', '3', String(odd.time)]);
});
