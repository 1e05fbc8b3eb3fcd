import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { createAuditChain } from '../src/audit/audit-chain.ts';
import { createCheckpointer } from '../src/audit/checkpointer.ts';
import { exportAudit } from '../src/audit/export-audit.ts';
import { createFolderCheckpointStore } from '../src/audit/folder-checkpoint-store.ts';
import { verifyAudit } from '../src/audit/verify-audit.ts';
import { systemClock } from '../src/core/ports/clock.ts';
import { silentLog } from '../src/telemetry/silent.ts';

// What the audit log costs: `node bench/audit.ts [records] [folder]`. Prints one JSON line a step.

const records = Number(process.argv[2] ?? 1_000_000);
const root = mkdtempSync(join(process.argv[3] ?? tmpdir(), 'tokenlat-bench-audit-'));
const dir = join(root, 'log');
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const stores = [createFolderCheckpointStore({ dir: join(root, 'checkpoints') })];
const common = { clock: systemClock, log: silentLog, metrics: { anomaly: (): void => {} } };

/** About what a request leaves behind. */
function facts(n: number) {
  return {
    request_id: `7f3c${String(n).padStart(12, '0')}`,
    tenant: `tenant-${n % 50}`,
    subject: `user-${n % 5000}`,
    business_line: 'search',
    requested_model: `model-${n % 10}`,
    model: `model-${n % 10}`,
    backend: `backend-${n % 4}`,
    route: 'default',
    outcome: 'complete',
    status: 200,
    error: null,
    usage: { prompt_tokens: n % 4000, cached_tokens: 0, completion_tokens: n % 900, estimated: false },
    cost: '0.001234',
    currency: 'USD',
    total_ms: (n % 100_000) / 100,
  };
}

async function step(name: string, run: () => Promise<number>, extra: () => object = () => ({})): Promise<void> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  const count = await run();
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const figures = {
    records: count,
    seconds: Number(seconds.toFixed(2)),
    records_per_second: Math.round(count / seconds),
    cpu_us_per_record: Number(((user + system) / count).toFixed(2)),
    rss_mb: Math.round(process.memoryUsage.rss() / 2 ** 20),
  };
  process.stdout.write(`${JSON.stringify({ step: name, ...figures, ...extra() })}\n`);
}

const open = () =>
  createAuditChain({
    ...common,
    dir,
    node: 'bench',
    worker: 0,
    workers: 1,
    segmentBytes: 64 * 1024 * 1024,
    rotateMs: 86_400_000,
    keepMs: 90 * 86_400_000,
    checkpoint: { everyMs: 10_000, records: 10_000 },
    checkpointer: createCheckpointer({ ...common, key: privateKey, publicKey, stores }),
  });

const nowhere = (): Writable => new Writable({ write: (_chunk, _encoding, done) => void setImmediate(done) });
const time = Date.now();

await step('append', async () => {
  const log = open();
  for (let n = 0; n < records; n += 1) {
    log.append({ kind: 'request', time: time + n, facts: facts(n) });
    if (n % 5000 === 4999) await log.flush(60_000);
  }
  await log.close();
  return records;
});
let report: object = {};
await step(
  'verify',
  async () => {
    const { ok, records: count, faults } = await verifyAudit({ dir, checkpoints: stores, publicKeys: [publicKey] });
    report = { ok, faults };
    return count;
  },
  () => report,
);
const exports = [
  ['export all, JSON lines', {}, 'jsonl'],
  ['export all, CSV', {}, 'csv'],
  ['export one model of ten', { model: 'model-3' }, 'jsonl'],
  ['export one request', { requestId: facts(Math.floor(records / 2)).request_id }, 'jsonl'],
  ['export the last percent by time', { from: time + Math.floor(records * 0.99) }, 'jsonl'],
] as const;
for (const [name, filter, format] of exports) {
  let written = 0;
  await step(
    name,
    async () => {
      const onUnreadable = (): void => {
        throw new Error('unreadable');
      };
      written = await exportAudit({ dir, filter: { kind: 'request', ...filter }, format, to: nowhere(), onUnreadable });
      return records;
    },
    () => ({ written }),
  );
}
rmSync(root, { recursive: true });
