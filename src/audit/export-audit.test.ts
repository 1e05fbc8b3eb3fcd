import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { entry, rig } from './audit-kit.test.ts';
import type { Rig } from './audit-kit.test.ts';
import { exportAudit } from './export-audit.ts';
import { sha256 } from './frame.ts';
import type { RecordFilter } from './read-records.ts';

async function exported(r: Rig, filter: RecordFilter, format: 'jsonl' | 'csv' = 'jsonl') {
  let text = '';
  let unreadable = 0;
  const to = new Writable({
    highWaterMark: 1,
    write(chunk: Buffer, _, done) {
      text += String(chunk);
      setImmediate(done);
    },
  });
  const count = await exportAudit({ dir: r.dir, filter, format, to, onUnreadable: () => (unreadable += 1) });
  to.end();
  return { count, unreadable, rows: text.split(format === 'csv' ? '\r\n' : '\n').slice(0, -1) };
}

async function written(): Promise<Rig> {
  const r = rig();
  const log = r.open({ segmentBytes: 8 * 1024 });
  for (let n = 0; n < 120; n += 1) {
    log.append(entry(n));
    if (n % 10 === 9) await log.flush(5000);
  }
  log.append({ kind: 'admin', time: 5, facts: { tenant: 't0', model: 'm0', path: '/x' } });
  log.append(entry(500, { model: null, requested_model: 'm0', tenant: 'x', subject: '=1+1', note: 'says "m7", "t9"' }));
  await log.close();
  return r;
}

const ids = (rows: readonly string[]): string[] =>
  rows.map((row) => (JSON.parse(row) as { facts: { request_id: string } }).facts.request_id);

test('by model, tenant, time and id', async () => {
  const r = await written();
  const all = Array.from({ length: 120 }, (_, n) => n);
  const name = (n: number): string => `r${n}`;
  assert.deepEqual(ids((await exported(r, { kind: 'request', model: 'm0' })).rows), [
    ...all.filter((n) => n % 2 === 0).map(name),
    'r500',
  ]);
  assert.deepEqual(
    ids((await exported(r, { kind: 'request', model: 'm0', tenant: 't0' })).rows),
    all.filter((n) => n % 6 === 0).map(name),
  );
  assert.deepEqual(
    ids((await exported(r, { from: 1_700_000_000_040, to: 1_700_000_000_050 })).rows),
    all.slice(40, 50).map(name),
  );
  assert.deepEqual(ids((await exported(r, { requestId: 'r7' })).rows), ['r7']);
  assert.equal((await exported(r, { tenant: 't9' })).count, 0);
  assert.equal((await exported(r, { kind: 'admin' })).count, 1);
  r.clean();
});

test('rows are the bytes that were hashed', async () => {
  const r = await written();
  const { rows } = await exported(r, { requestId: 'r7' });
  const lines = r.segments().flatMap((file) => r.lines(file));
  const line = lines.find((candidate) => candidate.slice(74) === rows[0]);
  assert.equal(line?.slice(9, 73), sha256(rows[0] ?? ''));
  r.clean();
});

test('a segment is passed over when its index shows no record of the time', async () => {
  const r = await written();
  const index = join(r.dir, (r.segments()[2] ?? '').replace('.log', '.index.json'));
  const { earliest, latest } = JSON.parse(readFileSync(index, 'utf8')) as { earliest: number; latest: number };
  writeFileSync(join(r.dir, r.segments()[2] ?? ''), 'not even looked at\n');
  const before = await exported(r, { from: 1_700_000_000_000, to: earliest });
  assert.deepEqual([before.count > 0, before.unreadable], [true, 0]);
  assert.equal((await exported(r, { from: latest })).unreadable, 1);
  r.clean();
});

test('CSV is quoted, and no cell is a formula', async () => {
  const r = await written();
  const { rows, count } = await exported(r, { requestId: 'r500' }, 'csv');
  assert.equal(count, 1);
  assert.equal(rows[0]?.split(',').length, 20);
  assert.match(
    rows[1] ?? '',
    /^2023-11-14T22:13:20\.500Z,test-0-\d{8}T\d{9}Z,\d+,[0-9a-f]{64},request,r500,x,'=1\+1,,m0,,,,,200,,,,,"\{""model"":null,/,
  );
  r.clean();
});
