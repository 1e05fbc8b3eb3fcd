import assert from 'node:assert/strict';
import { appendFileSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { entry, kinds, rig } from './audit-kit.test.ts';
import { frameOf } from './frame.ts';
import { parseRecord } from './record.ts';
import type { OpenSegment, SegmentHandle } from './segment-writer.ts';

test('what is appended is on disk after a flush, chained, and verifies', async () => {
  const { open, verify, segments, lines, clean } = rig();
  const log = open();
  for (let n = 0; n < 500; n += 1) log.append(entry(n));
  assert.equal(await log.flush(5000), 0);
  const records = lines(segments()[0] ?? '').map((line) => parseRecord(Buffer.from(line.slice(74))));
  assert.equal(records.length, 501);
  assert.deepEqual(records[0]?.facts['event'], 'start');
  assert.deepEqual(records[7]?.facts, entry(6).facts);
  assert.equal(log.state(), 'ok');
  await log.close();
  const report = await verify();
  assert.deepEqual(
    [report.ok, report.records, report.chains[0]?.proven, report.chains[0]?.unproven],
    [true, 502, 502, 0],
  );
  clean();
});

test('what comes after the last checkpoint is told as unproven', async () => {
  const { open, verify, segments, stores, clean } = rig();
  const log = open();
  log.append(entry(1));
  await log.flush(5000);
  const chain = (segments()[0] ?? '').slice(0, -11);
  const isProven = async (): Promise<boolean> => (await stores[0]?.list(chain).catch(() => []))?.length === 1;
  for (let i = 0; i < 1000 && !(await isProven()); i += 1) await sleep(5);
  log.append(entry(2));
  log.append(entry(3));
  await log.flush(5000);
  const { ok, chains } = await verify();
  assert.equal(ok, true);
  assert.deepEqual([chains[0]?.last, chains[0]?.proven, chains[0]?.unproven], [4, 2, 2]);
  await log.close();
  clean();
});

test('segments are changed by size and by age, and the chain goes through them', async () => {
  const { open, verify, segments, clean } = rig();
  let time = Date.now();
  const log = open({
    segmentBytes: 64 * 1024,
    rotateMs: 1000,
    clock: { now: () => performance.now(), time: () => time },
  });
  for (let n = 0; n < 1000; n += 1) {
    log.append(entry(n, { filler: 'x'.repeat(100) }));
    if (n % 100 === 99) await log.flush(5000);
  }
  const bySize = segments().length;
  assert.ok(bySize >= 4, String(bySize));
  log.append(entry(1));
  await log.flush(5000);
  time += 2000;
  log.append(entry(2));
  await log.flush(5000);
  assert.ok(segments().length > bySize);
  await log.close();
  const report = await verify();
  assert.equal(report.ok, true, JSON.stringify(report.findings));
  assert.equal(report.records, 1004);
  clean();
});

/** A disk whose calls fail as a test says. */
function disk(): {
  readonly open: OpenSegment;
  fault: (call: 'write' | 'datasync' | 'open', bytes: number) => number | Error | Promise<void>;
} {
  const self = {
    fault: (_call: 'write' | 'datasync' | 'open', bytes: number): number | Error | Promise<void> => bytes,
    open: async (path: string, flags: string, mode: number): Promise<SegmentHandle> => {
      const refused = self.fault('open', 0);
      if (refused instanceof Error) throw refused;
      const file = await openFile(path, flags, mode);
      const write = async (bytes: Buffer, offset: number, length: number, position: number) => {
        const allowed = self.fault('write', length);
        if (allowed instanceof Error) throw allowed;
        if (allowed instanceof Promise) await allowed;
        return file.write(bytes, offset, typeof allowed === 'number' ? allowed : length, position);
      };
      return {
        write: write as SegmentHandle['write'],
        datasync: async () => {
          const refused = self.fault('datasync', 0);
          if (refused instanceof Error) throw refused;
          await file.datasync();
        },
        truncate: (length) => file.truncate(length),
        stat: (() => file.stat()) as SegmentHandle['stat'],
        close: () => file.close(),
      };
    },
  };
  return self;
}

const ENOSPC = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });

test('a full disk fails the log, half-written batches are taken back, and it recovers by itself', async () => {
  const { open, verify, anomalies, clean } = rig();
  const bad = disk();
  const log = open({ open: bad.open });
  log.append(entry(0));
  await log.flush(5000);
  let half = true;
  bad.fault = (call, bytes) => {
    if (call !== 'write') return 0;
    half = !half;
    return half ? ENOSPC : Math.ceil(bytes / 2);
  };
  for (let n = 1; n < 50; n += 1) log.append(entry(n));
  assert.ok((await log.flush(200)) > 0);
  for (let i = 0; i < 400 && log.state() !== 'failing'; i += 1) await sleep(5);
  assert.equal(log.state(), 'failing');
  bad.fault = (_, bytes) => bytes;
  assert.equal(await log.flush(5000), 0);
  assert.equal(log.state(), 'ok');
  assert.deepEqual(anomalies, ['audit_write_failed']);
  await log.close();
  const report = await verify();
  assert.equal(report.ok, true, JSON.stringify(report.findings));
  assert.equal(report.records, 52);
  clean();
});

test('what was appended before is said to be kept while others go on appending, and not while the disk refuses', async () => {
  const { open, segments, lines, clean } = rig();
  const bad = disk();
  const log = open({ open: bad.open });
  assert.equal(await log.kept(1000), true);
  const busy = setInterval(() => log.append(entry(0)), 1);
  for (let n = 1; n <= 20; n += 1) {
    log.append(entry(n));
    assert.equal(await log.kept(5000), true);
    assert.ok(
      segments().some((file) => lines(file).some((line) => line.includes(`"request_id":"r${n}"`))),
      String(n),
    );
  }
  clearInterval(busy);
  await log.flush(5000);
  bad.fault = (call, bytes) => (call === 'datasync' ? ENOSPC : bytes);
  log.append(entry(21));
  assert.equal(await log.kept(60_000), false);
  assert.equal(log.state(), 'failing');
  bad.fault = (_, bytes) => bytes;
  await log.flush(5000);
  assert.equal(await log.kept(1000), true);
  await log.close();
  clean();
});

test('a disk that hangs is waited for no longer than asked', async () => {
  const { open, clean } = rig();
  const bad = disk();
  let release = (): void => {};
  const log = open({ open: bad.open });
  await log.flush(5000);
  const hanging = new Promise<void>((resolve) => (release = resolve));
  bad.fault = (call, bytes) => (call === 'write' ? hanging : bytes);
  log.append(entry(0));
  assert.equal(await log.kept(50), false);
  release();
  bad.fault = (_, bytes) => bytes;
  assert.equal(await log.kept(5000), true);
  await log.close();
  clean();
});

test('a sync that fails is no sync: the batch is written again', async () => {
  const { open, verify, clean } = rig();
  const bad = disk();
  const log = open({ open: bad.open });
  await log.flush(5000);
  let left = 3;
  bad.fault = (call, bytes) => (call === 'datasync' && left-- > 0 ? new Error('EIO') : bytes);
  for (let n = 0; n < 10; n += 1) log.append(entry(n));
  assert.equal(await log.flush(5000), 0);
  await log.close();
  const report = await verify();
  assert.deepEqual([report.ok, report.records], [true, 12]);
  clean();
});

test('a log that cannot begin begins when it can', async () => {
  const { open, verify, clean } = rig();
  const bad = disk();
  bad.fault = (call) => (call === 'open' ? ENOSPC : 0);
  const log = open({ open: bad.open });
  log.append(entry(0));
  for (let i = 0; i < 400 && log.state() !== 'failing'; i += 1) await sleep(5);
  assert.equal(log.state(), 'failing');
  assert.equal(await log.flush(100), 2);
  bad.fault = (_, bytes) => bytes;
  assert.equal(await log.flush(5000), 0);
  await log.close();
  const report = await verify();
  assert.deepEqual([report.ok, report.records], [true, 3], JSON.stringify(report.findings));
  clean();
});

test('a disk that hangs fills a bounded queue; what is dropped is counted in the log', async () => {
  const { open, verify, segments, lines, anomalies, clean } = rig();
  const bad = disk();
  let release = (): void => {};
  const log = open({ open: bad.open, queueBytes: 20_000, stallMs: 50 });
  await log.flush(5000);
  const hanging = new Promise<void>((resolve) => (release = resolve));
  bad.fault = (call, bytes) => (call === 'write' ? hanging : bytes);
  log.append(entry(0));
  for (let i = 0; i < 400 && log.state() !== 'failing'; i += 1) await sleep(5);
  assert.equal(log.state(), 'failing');
  for (let n = 1; n <= 100; n += 1) log.append(entry(n));
  const dropped = anomalies.filter((kind) => kind === 'audit_dropped').length;
  assert.ok(dropped > 50 && dropped < 90, String(dropped));
  bad.fault = (_, bytes) => bytes;
  release();
  await log.flush(5000);
  log.append(entry(101));
  assert.equal(await log.flush(5000), 0);
  assert.equal(log.state(), 'ok');
  await log.close();
  const records = lines(segments()[0] ?? '').map((line) => parseRecord(Buffer.from(line.slice(74))));
  const gap = records.findIndex((record) => record?.facts['event'] === 'gap');
  assert.equal(records[gap]?.facts['dropped'], dropped);
  assert.equal(records[gap - 1]?.facts['request_id'], `r${100 - dropped}`);
  assert.equal(records[gap + 1]?.facts['request_id'], 'r101');
  const report = await verify();
  assert.equal(report.ok, true);
  assert.equal(kinds(report, false).length, 1);
  clean();
});

test('a segment that is removed under the writer is missed, and the chain goes on', async () => {
  const { open, verify, dir, segments, anomalies, clean } = rig();
  const log = open();
  log.append(entry(0));
  await log.flush(5000);
  rmSync(join(dir, segments()[0] ?? ''));
  log.append(entry(1));
  assert.equal(await log.flush(5000), 0);
  await log.close();
  assert.deepEqual(anomalies, ['audit_segment_lost', 'audit_write_failed']);
  const report = await verify();
  assert.equal(report.ok, false);
  assert.deepEqual(kinds(report), ['missing@1']);
  clean();
});

/** As a killed process leaves a chain: the name of a process that is not there, and no last word. */
function leave(dir: string, chain: string): void {
  writeFileSync(join(dir, `${chain}.live`), '999999999 1 x\n');
}

for (const torn of ['', '000', 'garbage without an end', '\u0000\u0000\u0000\n\nmore', '00000010 ']) {
  test(`after a crash, ${JSON.stringify(torn)} at the end is cut and told of`, async () => {
    const { open, verify, dir, segments, lines, clean } = rig();
    const first = open();
    for (let n = 0; n < 20; n += 1) first.append(entry(n));
    await first.close();
    const file = segments()[0] ?? '';
    const before = readFileSync(join(dir, file));
    appendFileSync(join(dir, file), torn);
    leave(dir, file.slice(0, -11));
    if (torn !== '') assert.equal((await verify()).ok, false);
    await sleep(2);
    const second = open();
    second.append(entry(20));
    await second.close();
    assert.deepEqual(readFileSync(join(dir, file)), before);
    assert.equal(existsSync(join(dir, `${file.slice(0, -11)}.live`)), false);
    const record = parseRecord(Buffer.from(lines(segments()[1] ?? '')[0]?.slice(74) ?? ''));
    assert.equal(record?.facts['event'], 'recovery');
    assert.ok(record !== null);
    const [told] = record.facts['recovered'] as unknown as [{ cut: { bytes: number } | null }];
    assert.equal(told.cut?.bytes ?? 0, Buffer.byteLength(torn));
    const report = await verify();
    assert.equal(report.ok, true, JSON.stringify(report.findings));
    assert.deepEqual(kinds(report, false), ['recovery@1']);
    clean();
  });
}

test('a chain that was killed before its first checkpoint gets one, also from behind an empty segment', async () => {
  const { open, verify, dir, segments, stores, clean } = rig();
  const first = open();
  for (let n = 0; n < 20; n += 1) first.append(entry(n));
  await first.close();
  const chain = (segments()[0] ?? '').slice(0, -11);
  rmSync(join(dir, '..', 'checkpoints', `${chain}.checkpoints`));
  writeFileSync(join(dir, `${chain}.000002.log`), '');
  leave(dir, chain);
  await sleep(2);
  await open().close();
  assert.equal((await stores[0]?.list(chain))?.length, 1);
  const report = await verify();
  assert.deepEqual([report.ok, report.chains[0]?.unproven], [true, 0], JSON.stringify(report.findings));
  clean();
});

test('what is no crash is not mended away', async () => {
  const { open, verify, dir, segments, lines, write, clean } = rig();
  const first = open();
  for (let n = 0; n < 20; n += 1) first.append(entry(n));
  await first.close();
  const file = segments()[0] ?? '';
  const changed = lines(file).map((line, at) => (at === 5 ? line.replace('r4', 'r9') : line));
  write(file, changed);
  leave(dir, file.slice(0, -11));
  await sleep(2);
  await open().close();
  assert.deepEqual(lines(file), changed);
  assert.deepEqual(kinds(await verify()), ['altered@6']);
  clean();
});

test('a tail that was cut below a checkpoint is not sworn to anew after a crash', async () => {
  const { open, verify, dir, segments, lines, clean } = rig();
  const first = open();
  for (let n = 0; n < 20; n += 1) first.append(entry(n));
  await first.close();
  const file = segments()[0] ?? '';
  truncateSync(
    join(dir, file),
    Buffer.byteLength(
      lines(file)
        .slice(0, 15)
        .map((line) => `${line}\n`)
        .join(''),
    ),
  );
  leave(dir, file.slice(0, -11));
  await sleep(2);
  await open().close();
  assert.deepEqual(kinds(await verify()), ['cut_tail@16']);
  clean();
});

test('a process that is there is left alone', async () => {
  const { open, verify, clean } = rig();
  const first = open();
  first.append(entry(0));
  await first.flush(5000);
  await sleep(2);
  const second = open();
  second.append(entry(1));
  await second.flush(5000);
  first.append(entry(2));
  await first.close();
  await second.close();
  const report = await verify();
  assert.deepEqual([report.ok, report.chains.length, report.notes], [true, 2, 0]);
  clean();
});

test('old segments go, and what is left still proves its start', async () => {
  const { open, verify, segments, dir, clean } = rig();
  let time = 1_700_000_000_000;
  const clock = { now: () => performance.now(), time: () => time };
  const old = open({ segmentBytes: 16 * 1024, keepMs: 86_400_000, clock });
  for (let n = 0; n < 100; n += 1) old.append({ ...entry(n), time });
  await old.close();
  time += 43_200_000;
  const running = open({ segmentBytes: 16 * 1024, keepMs: 86_400_000, clock, rotateMs: 3_600_000 });
  for (let n = 0; n < 4; n += 1) {
    for (let i = 0; i < 100; i += 1) running.append({ ...entry(i), time });
    await running.flush(5000);
    time += 43_200_000;
  }
  running.append({ ...entry(1000), time });
  await running.flush(5000);
  await sleep(100);
  await running.close();
  const report = await verify();
  assert.equal(report.ok, true, JSON.stringify(report.findings));
  assert.equal(report.chains.length, 1);
  assert.ok((report.chains[0]?.first ?? 0) > 100, JSON.stringify(report.chains));
  assert.equal(report.chains[0]?.unproven, 0);
  rmSync(join(dir, segments()[0] ?? ''));
  assert.deepEqual(kinds(await verify()), [`missing@${report.chains[0]?.first}`]);
  clean();
});

test('a record can be checked by hand', async () => {
  const { open, segments, lines, clean } = rig();
  const log = open();
  log.append(entry(1));
  await log.close();
  const [first = '', second = ''] = lines(segments()[0] ?? '');
  assert.equal(`${first}\n`, frameOf(first.slice(74)).line);
  assert.equal(JSON.parse(second.slice(74)).prev, first.slice(9, 73));
  clean();
});
