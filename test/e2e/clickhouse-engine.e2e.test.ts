import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { collect, entriesOf, ledgerEvent, readerOf } from '../../src/cost/cost-kit.test.ts';
import { exportLedger } from '../../src/cost/export/export-ledger.ts';
import { createClickHouseSink } from '../../src/cost/sink/clickhouse-sink.ts';
import { createLedgerFollower } from '../../src/cost/sink/ledger-follower.ts';
import { SinkError } from '../../src/cost/sink/ledger-sink.ts';
import { createMemorySinkPositions } from '../../src/store/memory/sink-positions.ts';
import { type ChdbServer, startChdb } from '../support/chdb-server.ts';

const never = new AbortController().signal;
let engine: ChdbServer;
let url = '';
before(
  async () => {
    engine = await startChdb();
    ({ url } = engine);
  },
  { timeout: 240_000 },
);
after(() => engine.stop());
const ask = (query: string): Promise<unknown[][]> => engine.ask(query);

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

test('the real engine takes the table, the rows and their repetition', async () => {
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

test('a table of an older version gets its new columns', async () => {
  const sink = createClickHouseSink({ url, table: 'older' });
  await sink.prepare(never);
  await ask('ALTER TABLE older DROP COLUMN cache_write_long_tokens');
  await assert.rejects(sink.write(ledger, never), (reason) => reason instanceof SinkError && !reason.passing);
  await sink.prepare(never);
  await sink.write(ledger, never);
  assert.deepEqual(await ask('SELECT count() FROM older_once'), [[4]]);
});

test('a follower that starts again from the beginning changes no sum', async () => {
  const many = entriesOf(Array.from({ length: 3000 }, (_, at) => ledgerEvent({ operation: `op-${at}`, cost: at })));
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  for (let runs = 0; runs < 2; runs += 1) {
    const sink = createClickHouseSink({ url, table: 'followed' });
    const follower = createLedgerFollower({
      reader: readerOf({ acme: many }),
      sink,
      positions: createMemorySinkPositions(),
      log,
      batch: 700,
    });
    assert.equal(await follower.pass(), 3000);
    await follower.close();
  }
  const expected = String((2999 * 3000) / 2);
  assert.deepEqual(await ask('SELECT count(), toString(sum(cost_micro)) FROM followed_once'), [[3000, expected]]);
});

test('the engine reads an export in Parquet', async () => {
  const file = path.join(engine.dir, 'ledger.parquet');
  const pieces = await collect(
    exportLedger(readerOf({ acme: ledger }), { tenant: 'acme', from: 0, to: 9e15, format: 'parquet' }),
  );
  fs.writeFileSync(file, Buffer.concat(pieces));
  const columns = 'count(), toString(max(cost_micro)), countIf(usage_flag IS NULL), toUnixTimestamp64Milli(max(time))';
  const [row] = await ask(`SELECT ${columns} FROM file('${file}', 'Parquet')`);
  assert.deepEqual(row?.map(String), ['4', '9007199254740991', '3', String(odd.time)]);
});
