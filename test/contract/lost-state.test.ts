/** That Redis has lost what it held is noticed by whoever remembers, and known to everybody then. */
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type WatchedState, watchState } from '../../src/control/state-loss/watch-state.ts';
import type { AuditEntry } from '../../src/core/ports/audit.ts';
import { systemClock } from '../../src/core/ports/clock.ts';
import type { KnownEpoch, LossAnswer } from '../../src/core/ports/epoch-store.ts';
import { waitUntil } from '../../src/app/wait-until.ts';
import type { Stores } from '../../src/store/stores.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { recorder } from './quota-harness.ts';
import { openStores } from './redis-harness.ts';

let server: RedisServer;
let raw: Redis;
let stores: Stores;
let open: WatchedState[] = [];
before(async () => {
  server = await startRedis();
  raw = new Redis(server.url);
  raw.on('error', () => {});
  stores = await openStores(server.url);
});
after(async () => {
  await stores.close();
  raw.disconnect();
  await server.stop();
});
beforeEach(async () => {
  // Behind the last looks of the test before, which would miss what it knew.
  await stores.epochs.look(null);
  await raw.flushall();
});
afterEach(() => {
  for (const watched of open) watched.close();
  open = [];
});

const ANSWER: LossAnswer = { how: 'accepted', by: 'ann@host', reason: 'a test', time: 1_700_000_000_000, booked: 0 };

function replica(remembered: KnownEpoch | null = null) {
  const entries: AuditEntry[] = [];
  const { log, metrics, lines, anomalies } = recorder();
  let shown = false;
  const watched = watchState({
    epochs: stores.epochs,
    remembered: Promise.resolve(remembered),
    audit: { append: (entry) => void entries.push(entry) },
    clock: systemClock,
    log,
    metrics,
    show: (lost) => void (shown = lost),
    lookMs: 50,
  });
  open.push(watched);
  return { ...watched, entries, lines, anomalies, shown: () => shown };
}

const until = async (condition: () => boolean): Promise<void> =>
  assert.ok(await waitUntil(async () => condition(), { timeoutMs: 15_000, everyMs: 5 }));

test('an emptied Redis is noticed at once by all, also by those who came later, until somebody answers', async () => {
  const [one, two] = [replica(), replica()];
  await one.ready(1000);
  await until(() => two.epoch() !== null);
  const before = one.epoch();
  assert.deepEqual([one.loss(), one.shown()], [null, false]);
  await raw.flushall();
  const began = performance.now();
  await until(() => one.loss() !== null && two.loss() !== null);
  assert.ok(performance.now() - began < 1000);
  assert.equal(one.loss()?.kind, 'missing');
  assert.equal(one.loss()?.heldUpTo, 0);
  assert.equal(one.shown(), true);
  const late = replica();
  await until(() => late.loss() !== null);
  assert.ok((await raw.pttl('tl:{~}:epoch')) > 0);
  assert.equal(await stores.epochs.answer(ANSWER), true);
  assert.equal(await stores.epochs.answer(ANSWER), false);
  await until(() => [one, two, late].every((each) => each.loss() === null && !each.shown()));
  assert.notEqual(one.epoch()?.id, before?.id);
  assert.deepEqual(
    one.entries.map(({ kind, facts }) => [kind, facts['event'], facts['by'] ?? null]),
    [
      ['system', 'state_lost', null],
      ['admin', 'state_loss_accepted', 'ann@host'],
    ],
  );
  assert.deepEqual(one.anomalies, ['state_lost']);
  assert.equal(one.lines.filter((line) => line.startsWith('error')).length, 1);
  // Whoever was away all the while learns of the answer, and sees no loss.
  const away = replica(before);
  await until(() => away.epoch() !== null);
  assert.equal(away.loss(), null);
  assert.equal(away.entries[0]?.facts['event'], 'state_loss_accepted');
});

test('a backup that is put back is noticed, and what it holds is told', async () => {
  const one = replica();
  await until(() => one.epoch() !== null);
  await raw.save();
  copyFileSync(join(server.dir, 'dump.rdb'), join(server.dir, 'backup.rdb'));
  const saved = Date.now();
  await sleep(2600);
  await server.kill();
  copyFileSync(join(server.dir, 'backup.rdb'), join(server.dir, 'dump.rdb'));
  await server.restart();
  await until(() => one.loss() !== null);
  const { kind, heldUpTo = 0 } = one.loss() ?? {};
  assert.equal(kind, 'older');
  assert.ok(heldUpTo <= saved && heldUpTo > saved - 1000, `held up to ${saved - heldUpTo} ms before`);
});

test('a step back that a crash may make is told, and is no loss', async () => {
  const one = replica();
  await until(() => one.epoch() !== null);
  await raw.hincrby('tl:{~}:epoch', 'at', -1500);
  await until(() => one.anomalies.includes('state_stepped_back'));
  assert.equal(one.loss(), null);
});

test('who remembers from the audit notices a loss that happened while nobody ran', async () => {
  const gone = replica({ id: 'of-another-time', at: Date.now() - 5000 });
  await until(() => gone.loss() !== null);
  assert.equal(gone.loss()?.kind, 'missing');
  await stores.epochs.answer(ANSWER);
  await until(() => gone.loss() === null);
  const { id = '', at = 0 } = gone.epoch() ?? {};
  const ahead = replica({ id, at: at + 60_000 });
  await until(() => ahead.loss() !== null);
  assert.equal(ahead.loss()?.kind, 'older');
  await stores.epochs.answer(ANSWER);
  await until(() => ahead.loss() === null);
  const other = replica({ id: 'never-seen', at: 0 });
  await until(() => other.loss() !== null);
  assert.equal(other.loss()?.kind, 'replaced');
});

test('a newcomer does not hide a step back from those who remember', async () => {
  const one = replica();
  await until(() => one.epoch() !== null);
  const known = one.epoch();
  one.close();
  // Behind its last look, which may still be on its way and would write the time again.
  await stores.epochs.look(null);
  await raw.hset('tl:{~}:epoch', 'at', String((known?.at ?? 0) - 60_000));
  assert.equal((await stores.epochs.look(null)).loss, null);
  assert.equal((await stores.epochs.look(known)).loss?.kind, 'older');
});
