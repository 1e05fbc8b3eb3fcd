import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../../src/app/wait-until.ts';
import { readRecords } from '../../../src/audit/read-records.ts';
import { type Shot, startLoad } from '../rig/load.ts';
import { type Rig, startRig, untilSettled } from '../rig/rig.ts';
import { runTokenlat } from '../rig/server-child.ts';
import { atLeast, atMost, exactly, told, type Verdict, verdict } from '../rig/verdict.ts';
import { balance } from './books.ts';

const DISK = '8m';
const FULL_MS = 3000;
const MIB = 1024 * 1024;

export interface AuditDiskOptions {
  readonly rule: 'block' | 'continue';
}

/**
 * P44: the disk of the audit is full under load, and has room again. `block`: requests are refused in the known form.
 * `continue`: they are served, and a record tells how many are missing. Nothing restarts, nothing grows without bound. Where
 * this user may not mount a disk, there is nothing to see.
 */
export async function fullAuditDisk({ rule }: AuditDiskOptions): Promise<readonly Verdict[]> {
  const disk = mkdtempSync(join(tmpdir(), 'tl-disk-'));
  if (!mounted(disk)) {
    rmSync(disk, { recursive: true });
    return [verdict(`P44 a full disk (${rule})`, [told('skipped', 'this user may not mount a tmpfs')])];
  }
  const dir = join(disk, 'audit');
  mkdirSync(dir);
  const audit = { dir, key_file: 'audit.pem', on_error: rule, checkpoint: { every: '500ms', dir: 'checkpoints' } };
  try {
    const rig = await startRig({ config: { audit } });
    try {
      return [await fill(rig, rule, disk, dir)];
    } finally {
      await rig.stop();
    }
  } finally {
    execFileSync('umount', ['-l', disk]);
    rmSync(disk, { recursive: true });
  }
}

async function fill(rig: Rig, rule: AuditDiskOptions['rule'], disk: string, dir: string): Promise<Verdict> {
  const [server] = rig.servers;
  const load = startLoad({ client: rig.client, perSecond: 50, name: `disk-${rule}` });
  await sleep(1500);
  const filler = join(disk, 'filler');
  const room = statfsSync(disk);
  const before = server?.rss() ?? 0;
  writeFileSync(filler, Buffer.alloc(Math.max(0, room.bavail * room.bsize - 4096)));
  const failing = (): Promise<boolean> => readyTells(rig, 'audit: cannot be written');
  const isTold = await waitUntil(failing, { timeoutMs: 10_000 });
  const from = performance.now();
  await sleep(FULL_MS);
  const to = performance.now();
  const grown = (server?.rss() ?? 0) - before;
  rmSync(filler);
  const freed = performance.now();
  const isBack = await waitUntil(async () => !(await failing()), { timeoutMs: 10_000 });
  const backMs = performance.now() - freed;
  await sleep(1500);
  const shots = await load.stop();
  const settled = await untilSettled(rig, 5000);
  let { records, dropped } = await count(dir, shots);
  // A record is on disk a moment after what it tells.
  const isWhole = async (): Promise<boolean> => {
    ({ records, dropped } = await count(dir, shots));
    return shots.length - records - dropped <= 0;
  };
  await waitUntil(isWhole, { timeoutMs: 10_000, everyMs: 500 });
  const during = shots.filter(({ startedAt }) => startedAt > from + 200 && startedAt < to);
  const later = shots.filter(({ startedAt }) => startedAt > freed + backMs + 200);
  const refused = ({ status, code }: Shot): boolean => status === 503 && code === 'audit_unavailable';
  const verified = await runTokenlat(['audit', 'verify', '-c', join(rig.dir, 'tokenlat-0.yaml')]);
  return verdict(`P44 the disk of the audit is full (${rule})`, [
    told('requests', shots.length),
    exactly('readiness tells', Number(isTold), 1),
    atLeast('alarms', await rig.metric('tokenlat_anomalies_total{kind="audit_write_failed"}'), 1),
    told('requests while it was full', during.length),
    exactly(
      rule === 'block' ? 'not refused as audit_unavailable' : 'not served',
      during.filter((shot) => (rule === 'block' ? !refused(shot) : !shot.complete)).length,
      0,
    ),
    atMost('memory grown', grown / MIB, 64, ' MiB'),
    exactly('recovered without a restart', Number(isBack), 1),
    told('recovered after ms', backMs),
    exactly('not served afterwards', later.filter(({ complete }) => !complete).length, 0),
    // What waited in the queue is written, and what did not fit is told of: together they are all.
    exactly('requests without a record, beyond those told of', shots.length - records - dropped, 0),
    told('told of as missing', dropped),
    exactly('open reservations', settled === null ? await rig.stores.ledger.open() : 0, 0),
    ...(await balance(rig, shots)).figures.filter(({ isGood }) => !isGood),
    exactly('audit verify ends with', verified.code ?? -1, 0),
  ]);
}

function mounted(disk: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK}`, 'tmpfs', disk], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function readyTells(rig: Rig, text: string): Promise<boolean> {
  const response = await fetch(`${rig.servers[0]?.ops ?? ''}/readyz`);
  return (await response.text()).includes(text);
}

async function count(
  dir: string,
  shots: readonly Shot[],
): Promise<{ readonly records: number; readonly dropped: number }> {
  const ids = new Set(shots.map(({ id }) => id));
  const seen = new Set<string>();
  let dropped = 0;
  for await (const found of readRecords(dir, {}, () => {})) {
    for (const { record } of found) {
      const { request_id: id, event, dropped: missing } = record.facts;
      if (typeof id === 'string' && ids.has(id)) seen.add(id);
      if (event === 'gap') dropped += Number(missing);
    }
  }
  return { records: seen.size, dropped };
}
