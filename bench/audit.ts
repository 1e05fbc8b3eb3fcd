import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import type { AuditEntry } from '../src/core/ports/audit.ts';
import type { RequestContext } from '../src/core/context.ts';
import type { Ending } from '../src/core/ending.ts';
import { Trail } from '../src/core/trail.ts';
import { auditFacts } from '../src/stations/wrap/audit-facts.ts';
import { traceOf } from '../src/stations/wrap/trace.ts';
import { createAuditChain } from '../src/audit/audit-chain.ts';
import { createCheckpointer } from '../src/audit/checkpointer.ts';
import { exportAudit } from '../src/audit/export-audit.ts';
import { createFolderCheckpointStore } from '../src/audit/folder-checkpoint-store.ts';
import { verifyAudit } from '../src/audit/verify-audit.ts';
import { systemClock } from '../src/core/ports/clock.ts';
import { silentLog } from '../src/telemetry/silent.ts';

// What the audit log costs: `node bench/audit.ts [records] [folder]`. Prints one JSON line a step, and ends with 1 when a million
// records are not verified in 30 s or one model's not exported in 60 s.

const records = Number(process.argv[2] ?? 1_000_000);
const root = mkdtempSync(join(process.argv[3] ?? tmpdir(), 'tokenlat-bench-audit-'));
const dir = join(root, 'log');
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const stores = [createFolderCheckpointStore({ dir: join(root, 'checkpoints') })];
const time = Date.now();
const common = { clock: systemClock, log: silentLog, metrics: { anomaly: (): void => {} } };

const price = { currency: 'USD', promptPerMtok: 500_000, cachedPerMtok: 50_000, completionPerMtok: 1_500_000 };
const deployments = Array.from({ length: 40 }, (_, at) => ({
  id: `model-${at % 10}@backend-${at % 4}`,
  model: `model-${at % 10}`,
  upstreamModel: `org/model-${at % 10}-8b-instruct`,
  backend: { name: `backend-${at % 4}`, dialect: 'openai' },
  costTier: 'standard',
  price,
}));
const id = (n: number): string => `0-7f3c${String(n).padStart(20, '0')}`;

/** What a request leaves behind, made as the last station makes it. */
function facts(n: number): AuditEntry['facts'] {
  const deployment = deployments[n % deployments.length];
  const trail = new Trail();
  trail.note('authenticate', 41, 'allowed', 'issuer https://login.example.com');
  trail.note('schedule', 612, 'held', '1224 tokens reserved; slot at model-3@backend-1 after 0 ms');
  trail.note('route', 12, 'decided', 'match: 2 candidates');
  trail.note('enhance', 9, 'clean', '2 texts against 40 terms');
  trail.note('adapt', 31, 'adapted', 'openai');
  trail.note('wrap', 2, 'recorded', 'audit');
  const attempt = { attempt: 1, backend: deployment?.backend.name, model: deployment?.model, outcome: 'served' };
  const ctx = {
    id: id(n),
    shownId: id(n),
    time,
    head: { method: 'POST', path: '/v1/chat/completions' },
    principal: { tenant: `tenant-${n % 50}`, subject: `user-${n % 5000}`, businessLine: 'search' },
    request: { model: deployment?.model, stream: n % 3 === 0 },
    decision: {
      route: { id: 'default' },
      reason: 'match',
      fallbackReason: null,
      candidates: [{ deployment, reason: 'weighted' }],
    },
    trail,
    config: { generation: 7 },
  } as unknown as RequestContext;
  const ending = {
    kind: 'complete',
    status: 200,
    usage: { prompt: n % 4000, cached: 0, completion: n % 900, reasoning: 0, source: 'upstream' },
    usageFlag: null,
    firstTokenMs: 41.25,
    totalMs: (n % 100_000) / 100,
    attempts: [{ ...attempt, status: 200, startedMs: 1.2, firstByteMs: 40.1, reason: '' }],
    events: [
      { chargedTo: 'tenant', model: deployment?.model, backend: deployment?.backend.name, cost: n, currency: 'USD' },
    ],
  } as unknown as Ending;
  return auditFacts(ctx, ending, traceOf(ctx, ending));
}

/** `mostUs`: microseconds a record that it may take. */
async function step(
  name: string,
  run: () => Promise<number>,
  extra: () => object = () => ({}),
  mostUs = Infinity,
): Promise<void> {
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
  const isInTime = (seconds * 1e6) / count <= mostUs;
  if (!isInTime) process.exitCode = 1;
  process.stdout.write(`${JSON.stringify({ step: name, in_time: isInTime, ...figures, ...extra() })}\n`);
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
await step('append', async () => {
  const log = open();
  for (let n = 0; n < records; n += 1) {
    log.append({ kind: 'request', time: time + n, facts: facts(n) });
    if (n % 1000 === 999) await log.flush(60_000);
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
  30,
);
const exports = [
  ['export all, JSON lines', {}, 'jsonl'],
  ['export all, CSV', {}, 'csv'],
  ['export one model of ten', { model: 'model-3' }, 'jsonl'],
  ['export one model of ten, half of the time', { model: 'model-3', to: time + Math.floor(records / 2) }, 'jsonl'],
  ['export one request', { requestId: id(Math.floor(records / 2)) }, 'jsonl'],
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
    name.startsWith('export one model') ? 60 : Infinity,
  );
}
rmSync(root, { recursive: true });
