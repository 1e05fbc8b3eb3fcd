import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAuditChain } from '../../src/audit/audit-chain.ts';
import { createCheckpointer } from '../../src/audit/checkpointer.ts';
import { createFolderCheckpointStore } from '../../src/audit/folder-checkpoint-store.ts';
import { readRecords } from '../../src/audit/read-records.ts';
import { verifyAudit } from '../../src/audit/verify-audit.ts';
import { systemClock } from '../../src/core/ports/clock.ts';
import { silentLog } from '../../src/telemetry/silent.ts';

const KILLS = Number(process.env['TOKENLAT_AUDIT_KILLS'] ?? 20);
const { privateKey, publicKey } = generateKeyPairSync('ed25519');

test(`after ${KILLS} kills while writing, the log verifies and holds all that was acknowledged`, async () => {
  const root = mkdtempSync(join(tmpdir(), 'tokenlat-crash-'));
  const [dir, checkpoints, keyFile] = ['log', 'checkpoints', 'key.pem'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const acknowledged: number[] = [];
  for (let run = 0; run < KILLS; run += 1) {
    const script = join(import.meta.dirname, 'audit-writer.ts');
    const child = spawn(process.execPath, [script, dir, checkpoints, keyFile, String(run)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await once(child.stdout, 'data');
    await sleep((run * 37) % 90);
    child.kill('SIGKILL');
    await once(child, 'exit');
    acknowledged.push(Number(said.slice(0, said.lastIndexOf('\n')).split('\n').at(-1)));
  }
  const stores = [createFolderCheckpointStore({ dir: checkpoints })];
  const common = { clock: systemClock, log: silentLog, metrics: { anomaly: (): void => {} } };
  const last = createAuditChain({
    ...common,
    dir,
    node: 'test',
    worker: 0,
    workers: 1,
    segmentBytes: 1024 * 1024,
    rotateMs: 86_400_000,
    keepMs: 86_400_000,
    checkpoint: { everyMs: 10_000, records: 10_000 },
    checkpointer: createCheckpointer({ ...common, key: privateKey, publicKey, stores }),
  });
  await last.close();

  const report = await verifyAudit({ dir, checkpoints: stores, publicKeys: [publicKey], now: Date.now() + 3_600_000 });
  assert.equal(report.ok, true, JSON.stringify(report.findings.filter(({ fault }) => fault)));
  assert.equal(report.chains.length, KILLS + 1);
  // A kill right at the start of the next one makes the same chain be told of twice.
  const told = report.findings.filter(({ kind }) => kind === 'recovery').map(({ message }) => message.split(' ')[1]);
  assert.equal(new Set(told).size, KILLS);
  assert.deepEqual(
    report.chains.filter(({ unproven }) => unproven > 0),
    [],
  );

  const highest = new Map<number, number>();
  for await (const found of readRecords(dir, { kind: 'request' }, () => assert.fail('unreadable'))) {
    for (const { record } of found) {
      const [run = -1, n = -1] = (record.facts['request_id'] as string).split('-').map(Number);
      assert.equal(n, (highest.get(run) ?? -1) + 1, 'no record is missing before the last');
      highest.set(run, n);
    }
  }
  acknowledged.forEach((n, run) => assert.ok((highest.get(run) ?? -1) >= n, `run ${run}: ${highest.get(run)} of ${n}`));
  rmSync(root, { recursive: true });
});

/** A disk of 1 MiB that is really full, where this user may mount one. */
function mountSmall(dir: string): boolean {
  mkdirSync(dir);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', dir], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

test('a full disk: entries wait, more are counted, and room brings all back without a restart', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'tokenlat-full-'));
  const dir = join(root, 'log');
  if (!mountSmall(dir)) {
    rmSync(root, { recursive: true });
    t.diagnostic('this user may not mount a tmpfs: src/audit/audit-chain.test.ts has the same with a disk that fails');
    return;
  }
  try {
    const stores = [createFolderCheckpointStore({ dir: join(root, 'checkpoints') })];
    const common = { clock: systemClock, log: silentLog, metrics: { anomaly: (): void => {} } };
    const filler = join(dir, 'filler');
    writeFileSync(filler, Buffer.alloc(700 * 1024));
    const log = createAuditChain({
      ...common,
      dir,
      node: 'test',
      worker: 0,
      workers: 1,
      segmentBytes: 1024 * 1024,
      rotateMs: 86_400_000,
      keepMs: 86_400_000,
      checkpoint: { everyMs: 10_000, records: 10_000 },
      checkpointer: createCheckpointer({ ...common, key: privateKey, publicKey, stores }),
      queueBytes: 256 * 1024,
    });
    const append = (n: number): void =>
      log.append({ kind: 'request', time: Date.now(), facts: { n, filler: 'x'.repeat(500) } });
    let n = 0;
    while (log.state() === 'ok' && n < 5000) {
      append((n += 1));
      if (n % 50 === 0) await log.flush(100);
    }
    assert.equal(log.state(), 'failing');
    for (let i = 0; i < 1000; i += 1) append((n += 1));
    rmSync(filler);
    assert.equal(await log.flush(5000), 0);
    append((n += 1));
    await log.close();
    assert.equal(log.state(), 'ok');
    const report = await verifyAudit({ dir, checkpoints: stores, publicKeys: [publicKey] });
    assert.equal(report.ok, true, JSON.stringify(report.findings));
    let kept = 0;
    let dropped = 0;
    for await (const found of readRecords(dir, {}, () => assert.fail('unreadable'))) {
      for (const { record } of found) {
        if (record.kind === 'request') kept += 1;
        if (record.facts['event'] === 'gap') dropped += Number(record.facts['dropped']);
      }
    }
    assert.ok(dropped > 0);
    assert.equal(kept + dropped, n);
  } finally {
    execFileSync('umount', [dir]);
    rmSync(root, { recursive: true });
  }
});
