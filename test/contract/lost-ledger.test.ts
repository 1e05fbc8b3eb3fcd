/** What Redis lost is made again from the audit, to the last millionth. */
import assert from 'node:assert/strict';
import { copyFileSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type LedgerWorld, ledgerWorld } from './lost-ledger.ts';

let world: LedgerWorld;
before(async () => {
  world = await ledgerWorld();
});
after(() => world.close());

/** The process's own exit code is not for commands to set here. */
async function cost(...words: readonly string[]) {
  const result = await world.cost(...words);
  const exit = process.exitCode ?? 0;
  process.exitCode = 0;
  return { ...result, exit };
}

test('an emptied Redis is rebuilt with no difference, however often it is done', async () => {
  await world.serve(2000);
  const whole = await world.books();
  await world.raw.flushall();
  assert.equal((await world.books())['entries'], 0);
  const dry = await cost('rebuild', '--dry-run');
  assert.deepEqual([dry.error, dry.exit], [null, 0]);
  assert.match(dry.out, /^2000 requests are missing \(2200 events, [\d.]+ [A-Z]+\); 0 were there$/m);
  assert.equal((await world.books())['entries'], 0);
  const first = await cost('rebuild', '--from-audit', world.audit);
  assert.deepEqual([first.error, first.exit, first.err], [null, 0, '']);
  assert.match(first.out, /^2000 requests were booked again/m);
  assert.deepEqual(await world.books(), whole);
  const second = await cost('rebuild');
  assert.match(second.out, /^0 requests were booked again \(0 events\); 2000 were there$/m);
  // Records of operations end after ledger.keep: then the ledger itself says what it holds.
  const records = await world.raw.keys('*:op:*');
  await world.raw.del(...records);
  assert.match((await cost('rebuild')).out, /^0 requests were booked again \(0 events\); 2000 were there$/m);
  assert.deepEqual(await world.books(), whole);
});

test('a backup that was put back is completed by what came after it', async () => {
  const { server, raw } = world;
  await raw.save();
  copyFileSync(join(server.dir, 'dump.rdb'), join(server.dir, 'backup.rdb'));
  await world.serve(500);
  const whole = await world.books();
  await server.kill();
  copyFileSync(join(server.dir, 'backup.rdb'), join(server.dir, 'dump.rdb'));
  await server.restart();
  assert.notDeepEqual(await world.books(), whole);
  assert.match((await cost('rebuild')).out, /^500 requests were booked again .*; 2000 were there$/m);
  assert.deepEqual(await world.books(), whole);
});

test('what the audit cannot tell is told, and ends no loss', async () => {
  const nowhere = await cost('rebuild', '--from-audit', join(world.audit, 'nowhere'));
  assert.match(nowhere.error?.message ?? '', /there is no folder/);
  const copy = mkdtempSync(join(tmpdir(), 'tokenlat-holes-'));
  cpSync(world.audit, copy, { recursive: true });
  const [segment = ''] = readdirSync(copy).filter((file) => file.endsWith('.log'));
  const text = readFileSync(join(copy, segment), 'utf8');
  writeFileSync(join(copy, segment), text.replace('"taken":{', '"tokens":{'));
  try {
    const holes = await cost('rebuild', '--from-audit', copy);
    assert.equal(holes.exit, 1);
    assert.match(
      holes.err,
      /^\d+ bytes of the audit are no record: `tokenlat cost accept-loss` accepts what is missing$/m,
    );
  } finally {
    rmSync(copy, { recursive: true });
  }
});

test('a loss is accepted with a reason, and only where there is one', async () => {
  assert.match((await cost('accept-loss', '--reason', 'test')).error?.message ?? '', /has lost nothing/);
  assert.match((await cost('accept-loss', '--reason', ' ')).error?.message ?? '', /must say something/);
  assert.ok((await cost('accept-loss')).error !== null);
});
