import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import type { Log } from '../core/ports/telemetry.ts';
import { workerAddresses } from '../config/worker-address.ts';
import { createOpsServer } from '../telemetry/ops-server.ts';
import { sumMetrics } from '../telemetry/sum-metrics.ts';
import type { LoadedConfig } from './load.ts';
import { makeFolder } from './make-folder.ts';
import { requireFreePort } from './require-free-port.ts';
import { StartupError } from './startup-error.ts';
import { startWorker, type Worker, type WorkerOptions } from './worker.ts';
import { WorkerPool } from './worker-pool.ts';

export interface ServeOptions {
  readonly loaded: LoadedConfig;
  readonly runDir: string;
  readonly log: Log;
  /** Where worker processes write their lines; standard output when left out. */
  readonly logFile?: string;
}

/** The whole server: its workers and the listener for operators. */
export interface Served {
  /** Drains. Without `envoyGone`, Envoy is given a moment to notice before it is refused anything. */
  stop(options?: { readonly envoyGone?: boolean }): Promise<void>;
}

/** What a single process and a pool of them have in common. */
export type Workers = Pick<Worker, 'drain'> & { reports(): ReturnType<WorkerPool['reports']> };

/** Twice the interval of Envoy's health checks of us. */
const NOTICE_MS = 1000;

/** Starts the workers, then the operators' listener. Throws `StartupError` with what to do. */
export async function serve({ loaded, runDir, log, logFile }: ServeOptions): Promise<Served> {
  const { server } = loaded.snapshot;
  await requireFreePort(server.ops.address, server.ops.port, 'server.ops.port');
  makeFolder(runDir, { key: '--state', mode: 0o700 });
  for (const address of workerAddresses(server)) {
    if (address.kind === 'unix') makeFolder(dirname(address.path), { key: 'server.socket_dir' });
  }
  // Hosts may share their names, and a process its number with one of another container.
  const replica = `${hostname()}-${randomBytes(3).toString('hex')}`;
  const options = { loaded, runDir, log, replica };
  const workers = server.workers === 1 ? await single(options) : await pool({ ...options, logFile });
  let draining = false;
  const ops = await createOpsServer({
    address: server.ops.address,
    port: server.ops.port,
    metrics: async () => sumMetrics((await workers.reports()).map((report) => report.metrics)),
    health: async () => {
      const reports = await workers.reports();
      const missing = server.workers - reports.length;
      return {
        ready: !draining && missing === 0 && reports.every((report) => report.ready),
        reasons: [
          ...new Set([
            ...(draining ? ['draining'] : []),
            ...(missing === 0 ? [] : [`${missing} workers do not answer`]),
            ...reports.flatMap((report) => report.reasons),
          ]),
        ],
      };
    },
  });
  return {
    async stop({ envoyGone = false } = {}) {
      draining = true;
      await workers.drain(envoyGone ? 0 : NOTICE_MS);
      await ops.close();
    },
  };
}

async function single(options: Omit<WorkerOptions, 'index'>): Promise<Workers> {
  const worker = await startWorker({ ...options, index: 0 }).catch((cause: unknown) => {
    throw new StartupError(`the server did not start: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  });
  return { drain: (noticeMs) => worker.drain(noticeMs), reports: async () => [await worker.report()] };
}

async function pool({
  loaded,
  logFile = '',
  ...options
}: Omit<WorkerOptions, 'index'> & { readonly logFile?: string | undefined }): Promise<Workers> {
  const { workers: count, drainMs } = loaded.snapshot.server;
  const workers = new WorkerPool({ ...options, path: loaded.path, count, drainMs, logFile });
  await workers.start();
  return workers;
}
