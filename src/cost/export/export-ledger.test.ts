import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { parquetMetadata, parquetReadObjects, parquetSchema } from 'hyparquet';
import type { LedgerEvent } from '../../core/ledger-event.ts';
import { collect, entriesOf, ledgerEvent, readerOf } from '../cost-kit.test.ts';
import { LEDGER_COLUMNS } from '../ledger-columns.ts';
import { readCsv } from '../bill/read-csv.ts';
import { type ExportFormat, exportLedger } from './export-ledger.ts';
import { streamIdBefore } from './stream-id-before.ts';

const DAY = Date.UTC(2026, 5, 1);
const ALL = { from: 0, to: Number.MAX_SAFE_INTEGER };

const odd = ledgerEvent({
  operation: 'odd',
  subject: '=HYPERLINK("http://x"),\r\nnext',
  requestType: 'a "quoted", text',
  usageFlag: '\ud800 alone, \u{1f600} whole',
  promptTokens: Number.MAX_SAFE_INTEGER,
  cost: Number.MAX_SAFE_INTEGER,
  firstTokenMs: null,
  cacheWriteTokens: 7,
});
const reversal = ledgerEvent({
  operation: 'back',
  attempt: 0,
  estimated: true,
  promptTokens: -5,
  cost: -3,
});

async function exported(events: readonly LedgerEvent[], format: ExportFormat, page = 2): Promise<Buffer> {
  const reader = readerOf({ acme: entriesOf(events) });
  return Buffer.concat(await collect(exportLedger(reader, { ...ALL, tenant: 'acme', format, page })));
}

test('CSV has a header, quotes what needs it, and nothing that a spreadsheet would run', async () => {
  const text = (await exported([odd, reversal], 'csv')).toString();
  const [head, first, second, ...rest] = readCsv(text).map(({ cells }) => cells);
  assert.deepEqual(head, [...LEDGER_COLUMNS.map(({ name }) => name), 'cost']);
  assert.equal(rest.length, 0);
  const cell = (row: readonly string[] | undefined, name: string) => row?.[head?.indexOf(name) ?? -1];
  assert.equal(cell(first, 'subject'), `'=HYPERLINK("http://x"),\r\nnext`);
  assert.equal(cell(first, 'request_type'), 'a "quoted", text');
  assert.equal(cell(first, 'usage_flag'), '\ufffd alone, \u{1f600} whole');
  assert.equal(cell(first, 'cost_micro'), '9007199254740991');
  assert.equal(cell(first, 'cost'), '9007199254.740991');
  assert.equal(cell(first, 'first_token_ms'), '');
  assert.equal(cell(first, 'time'), '2026-06-01T12:00:00.000Z');
  assert.equal(cell(second, 'kind'), 'reversal');
  assert.equal(cell(second, 'cost_micro'), '-3', 'a negative number is no formula');
});

test('times are told to thousandths', async () => {
  const event = ledgerEvent({ totalMs: 4.8820000000000014, firstTokenMs: 0.1 + 0.2 });
  const [line] = (await exported([event], 'jsonl')).toString().split('\n');
  const row = JSON.parse(line ?? '') as Record<string, unknown>;
  assert.deepEqual([row['total_ms'], row['first_token_ms']], [4.882, 0.3]);
  assert.match((await exported([event], 'csv')).toString(), /,0\.3,4\.882,/);
});

test('JSON lines hold the same values', async () => {
  const lines = (await exported([odd, reversal], 'jsonl')).toString().split('\n');
  assert.equal(lines.pop(), '');
  const [first, second] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.equal(first?.['subject'], odd.subject);
  assert.equal(first?.['first_token_ms'], null);
  assert.equal(first?.['cache_write_tokens'], 7);
  assert.equal(first?.['cost'], '9007199254.740991');
  assert.equal(second?.['estimated'], true);
  assert.equal(second?.['audio_prompt_tokens'], 0);
  assert.equal(second?.['prompt_tokens'], -5);
});

test('Parquet reads back as it was, over several row groups', async () => {
  const many = Array.from({ length: 45_000 }, (_, at) =>
    ledgerEvent({ operation: `op-${at}`, cost: at, usageFlag: at % 3 === 0 ? null : 'flag' }),
  );
  const file = await exported([odd, reversal, ...many], 'parquet', 1000);
  const bytes = file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength) as ArrayBuffer;
  const metadata = parquetMetadata(bytes);
  assert.equal(metadata.num_rows, 45_002n);
  assert.ok(metadata.row_groups.length >= 3);
  const schema = parquetSchema(metadata).children.map(({ element }) => element);
  const type = (name: string) => schema.find((element) => element.name === name);
  assert.equal(type('cost_micro')?.type, 'INT64');
  assert.equal(type('cost_micro')?.repetition_type, 'REQUIRED');
  assert.equal(type('usage_flag')?.repetition_type, 'OPTIONAL');
  assert.equal(type('subject')?.converted_type, 'UTF8');
  assert.equal(type('time')?.converted_type, 'TIMESTAMP_MILLIS');
  const rows = await parquetReadObjects({ file: bytes });
  assert.equal(rows.length, 45_002);
  assert.equal(rows[0]?.['subject'], odd.subject);
  assert.equal(rows[0]?.['prompt_tokens'], 9_007_199_254_740_991n);
  assert.equal(rows[0]?.['first_token_ms'], null);
  assert.equal(rows[0]?.['total_ms'], 99.25);
  assert.equal(rows[0]?.['usage_flag'], '\ufffd alone, \u{1f600} whole');
  assert.deepEqual(rows[0]?.['time'], new Date(Date.UTC(2026, 5, 1, 12)));
  assert.equal(rows[1]?.['cost_micro'], -3n);
  assert.equal(rows[1]?.['estimated'], true);
  for (const at of [0, 1, 19_999, 44_999]) {
    assert.equal(rows[at + 2]?.['operation'], `op-${at}`);
    assert.equal(rows[at + 2]?.['cost_micro'], BigInt(at));
    assert.equal(rows[at + 2]?.['usage_flag'], at % 3 === 0 ? null : 'flag');
  }
});

test('an empty ledger is a whole file of each format', async () => {
  assert.match((await exported([], 'csv')).toString(), /^id,kind,time,.*,cost\r\n$/);
  assert.equal((await exported([], 'jsonl')).length, 0);
  const file = await exported([], 'parquet');
  const bytes = file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength) as ArrayBuffer;
  assert.equal(parquetMetadata(bytes).num_rows, 0n);
});

test('what arrived from `from` on and before `to`, of one tenant or of all, whatever the order of booking', async () => {
  const at = (ms: number, operation: string, tenant = 'acme') => ledgerEvent({ time: DAY + ms, operation, tenant });
  const acme = [at(5, 'late'), at(0, 'first'), at(-1, 'before'), at(10, 'after'), at(9, 'last')];
  const reader = readerOf({
    acme: acme.map((event, index) => ({ id: `${DAY + 1000 + index}-0`, event })),
    other: entriesOf([at(3, 'theirs', 'other')]),
  });
  const read = async (tenant: string | null, after: string | null = null) => {
    const options = { tenant, from: DAY, to: DAY + 10, format: 'jsonl' as const, page: 2, after };
    const text = Buffer.concat(await collect(exportLedger(reader, options))).toString();
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as { operation: string }).operation);
  };
  assert.deepEqual(await read('acme'), ['late', 'first', 'last']);
  assert.deepEqual(await read(null), ['late', 'first', 'last', 'theirs']);
  assert.deepEqual(await read('nobody'), []);
  assert.deepEqual(await read('acme', streamIdBefore(DAY)), ['late', 'first', 'last']);
  assert.equal(streamIdBefore(5), '0-0');
  await assert.rejects(collect(exportLedger(reader, { tenant: null, from: 2, to: 1, format: 'csv' })), RangeError);
  await assert.rejects(
    collect(exportLedger(reader, { tenant: null, from: Number.NaN, to: 1, format: 'csv' })),
    RangeError,
  );
});

test('any texts come back from CSV and from Parquet', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string({ unit: 'binary', maxLength: 20 }), { maxLength: 6 }), async (texts) => {
      const events = texts.map((text) => ledgerEvent({ subject: text, usageFlag: text }));
      const rows = readCsv((await exported(events, 'csv')).toString()).slice(1);
      const column = LEDGER_COLUMNS.findIndex(({ name }) => name === 'subject');
      const plain = (text: string) => (/^'[=+\-@\t\r]/.test(text) ? text.slice(1) : text);
      assert.deepEqual(
        rows.map(({ cells }) => plain(cells[column] ?? '')),
        texts,
      );
      const file = await exported(events, 'parquet');
      const bytes = file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength) as ArrayBuffer;
      const back = await parquetReadObjects({ file: bytes });
      assert.deepEqual(
        back.map((row) => row['usage_flag'] as unknown),
        texts,
      );
    }),
    { numRuns: 60 },
  );
});
