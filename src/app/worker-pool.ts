import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Log } from '../core/ports/telemetry.ts';
import { StartupError } from './startup-error.ts';
import type { FromWorker, ToWorker, WorkerReport } from './worker-messages.ts';

export interface WorkerPoolOptions {
  readonly path: string;
  readonly count: number;
  readonly runDir: string;
  readonly log: Log;
  /** How long a drain of a worker may take; one that is not gone soon after is killed. */
  readonly drainMs: number;
  /** File for the workers' own lines; empty = standard output. */
  readonly logFile: string;
}

const REPORT_MS = 1000;
/** What a worker needs beside its drain to write what waits and to end. */
const LEAVE_MS = 4000;
const RESTART_MS = { first: 100, most: 5000 };

/** Processes that serve ext_proc, each on its own address; one that dies is replaced at the same one. */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #children = new Map<number, ChildProcess>();
  readonly #waiting = new Map<number, (report: WorkerReport) => void>();
  #turn = 0;
  #draining = false;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
  }

  /** Resolves when every worker serves. Throws `StartupError`. */
  async start(): Promise<void> {
    try {
      await Promise.all(Array.from({ length: this.#options.count }, (_, index) => this.#fork(index, RESTART_MS.first)));
    } catch (reason) {
      await this.drain();
      throw reason;
    }
  }

  /** Ends every worker, by force where it hangs. */
  async drain(noticeMs = 0): Promise<void> {
    this.#draining = true;
    const { drainMs, log } = this.#options;
    await Promise.all(
      [...this.#children.values()].map(async (child) => {
        const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
        this.#send(child, { kind: 'drain', noticeMs });
        const timer = setTimeout(() => {
          log.error('a worker did not end by itself', { pid: child.pid });
          child.kill('SIGKILL');
        }, drainMs + LEAVE_MS);
        await gone;
        clearTimeout(timer);
      }),
    );
  }

  /** One report a worker that answers. */
  async reports(): Promise<readonly WorkerReport[]> {
    const asked = [...this.#children.values()].map((child) => this.#ask(child));
    return (await Promise.all(asked)).filter((report) => report !== null);
  }

  #ask(child: ChildProcess): Promise<WorkerReport | null> {
    this.#turn += 1;
    const turn = this.#turn;
    return new Promise((resolve) => {
      const done = (report: WorkerReport | null): void => {
        clearTimeout(timer);
        this.#waiting.delete(turn);
        resolve(report);
      };
      const timer = setTimeout(() => done(null), REPORT_MS);
      this.#waiting.set(turn, done);
      this.#send(child, { kind: 'report', turn });
    });
  }

  #send(child: ChildProcess, message: ToWorker): void {
    if (child.connected) child.send(message, () => {});
  }

  #fork(index: number, patience: number): Promise<void> {
    const { path, runDir, log, logFile } = this.#options;
    const entry = import.meta.url.replace(/worker-pool\.(ts|js)$/, 'worker-main.$1');
    const child = fork(fileURLToPath(entry), [path, String(index), runDir, logFile]);
    this.#children.set(index, child);
    return new Promise((resolve, reject) => {
      let serving = false;
      child.on('message', (message: FromWorker) => {
        if (message.kind === 'report') this.#waiting.get(message.turn)?.(message.report);
        if (message.kind === 'ready') {
          serving = true;
          resolve();
        }
        if (message.kind === 'failed') reject(new StartupError(`worker ${index} did not start: ${message.message}`));
      });
      child.once('exit', (code, signal) => {
        this.#children.delete(index);
        if (this.#draining) return;
        reject(new StartupError(`worker ${index} ended while it started (${signal ?? code})`));
        if (serving) log.error('worker ended, starting another', { worker: index, code, signal });
        if (serving || patience > RESTART_MS.first) this.#again(index, serving ? RESTART_MS.first : patience);
      });
    });
  }

  #again(index: number, patience: number): void {
    setTimeout(() => {
      if (this.#draining) return;
      this.#fork(index, Math.min(patience * 2, RESTART_MS.most)).catch((reason: unknown) => {
        this.#options.log.error('worker could not be started again', { worker: index, reason: String(reason) });
      });
    }, patience);
  }
}
