import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Log } from '../core/ports/telemetry.ts';
import { StartupError } from './startup-error.ts';
import { waitUntil } from './wait-until.ts';
import { WorkerPool } from './worker-pool.ts';

const dir = mkdtempSync(join(tmpdir(), 'tl-pool-'));
after(() => rmSync(dir, { recursive: true }));
mkdirSync(join(dir, 's'));
const path = join(dir, 'tokenlat.yaml');
writeFileSync(
  path,
  `version: 1
server: {workers: 2, socket_dir: ${join(dir, 's')}, drain: 1s}
telemetry: {log_level: error}
auth: {api_keys: [{name: k, key: "0123456789abcdef", tenant: t}]}
backends: [{name: b, endpoints: [{url: "http://127.0.0.1:9/v1"}]}]
models: [{name: m, deployments: [{backend: b}]}]
`,
);

function poolOf(count: number, config = path) {
  const logged: string[] = [];
  const log: Log = { debug() {}, info() {}, warn() {}, error: (message) => logged.push(message) };
  return {
    logged,
    pool: new WorkerPool({
      path: config,
      count,
      drainMs: 1000,
      runDir: dir,
      replica: 'here',
      log,
      logFile: join(dir, 'workers.log'),
      watchMs: 500,
    }),
  };
}

/** The child of ours that runs as this worker. */
function workerPid(index: number): number {
  for (const pid of readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').trim().split(' ')) {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    const entry = words.findIndex((word) => word.endsWith('worker-main.ts'));
    if (entry !== -1 && words[entry + 2] === String(index)) return Number(pid);
  }
  return assert.fail(`no process of worker ${index}`);
}

test('workers start, report, are replaced when they die or hang, and leave when they are told', async () => {
  const { pool, logged } = poolOf(2);
  await pool.start();
  try {
    const reports = await pool.reports();
    assert.deepEqual(
      reports.map((report) => report.worker).toSorted((a, b) => a - b),
      [0, 1],
    );
    assert.ok(reports.every((report) => report.generation === 1 && report.requests === 0));
    const victim = workerPid(0);
    process.kill(victim, 'SIGKILL');
    assert.ok(await waitUntil(() => logged.length === 1, { timeoutMs: 20_000 }));
    assert.deepEqual(logged, ['worker ended, starting another']);
    assert.ok(await waitUntil(async () => (await pool.reports()).length === 2, { timeoutMs: 30_000 }));
    assert.notEqual(workerPid(0), victim);
    const still = workerPid(1);
    process.kill(still, 'SIGSTOP');
    assert.ok(await waitUntil(() => logged.length === 3, { timeoutMs: 30_000 }));
    assert.deepEqual(logged.slice(1), ['worker hangs, ending it', 'worker ended, starting another']);
    assert.ok(await waitUntil(async () => (await pool.reports()).length === 2, { timeoutMs: 30_000 }));
    assert.notEqual(workerPid(1), still);
  } finally {
    await pool.drain();
  }
  assert.deepEqual([logged.length, await pool.reports()], [3, []]);
});

test('a worker that cannot start fails the start, and leaves nobody behind', async () => {
  const { pool } = poolOf(1, join(dir, 'nowhere.yaml'));
  await assert.rejects(
    pool.start(),
    (error) => error instanceof StartupError && /worker 0 did not start: .*nowhere\.yaml/.test(error.message),
  );
  assert.ok(await waitUntil(async () => (await pool.reports()).length === 0, { timeoutMs: 20_000 }));
});
