import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Log } from '../core/ports/telemetry.ts';
import { StartupError } from './startup-error.ts';
import type { FromWorker, ToWorker, WorkerReport } from './worker-messages.ts';

export interface WorkerPoolOptions {
  readonly path: string;
  readonly count: number;
  readonly runDir: string;
  /** Names this server among all replicas. */
  readonly replica: string;
  readonly log: Log;
  /** How long a drain of a worker may take; one that is not gone soon after is killed. */
  readonly drainMs: number;
  /** File for the workers' own lines; empty = standard output. */
  readonly logFile: string;
  /** How often a worker is asked whether it still lives; default 3 s. */
  readonly watchMs?: number;
}

const WATCH_MS = 3000;
/** Questions in a row without an answer after which a worker hangs. Counted and not timed, for we may have been stopped ourselves. */
const SILENT_TIMES = 5;
const ANSWER_MS = 1000;
/** What a worker needs beside its drain to write what waits and to end. */
const LEAVE_MS = 4000;
/** Megabytes for young objects: a request's are mostly dead by the time that this is full, and what is dead costs nothing. */
const YOUNG_SPACE = '--max-semi-space-size=64';
const RESTART_MS = { first: 100, most: 5000 };

type Answer = Extract<FromWorker, { readonly turn: number }>;

/** Processes that serve ext_proc, each on its own address; one that dies is replaced at the same one. */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #children = new Map<number, ChildProcess>();
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #turn = 0;
  #draining = false;
  /** Of each worker that serves: questions in a row that it left unanswered. */
  readonly #silent = new Map<ChildProcess, number>();
  #watch: NodeJS.Timeout | null = null;

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
    this.#watch = setInterval(() => this.#endSilent(), this.#options.watchMs ?? WATCH_MS);
    this.#watch.unref();
  }

  /** Ends every worker, by force where it hangs. */
  async drain(noticeMs = 0): Promise<void> {
    this.#draining = true;
    clearInterval(this.#watch ?? undefined);
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
    const asked = [...this.#children.values()].map((child) => this.#ask(child, 'report'));
    return (await Promise.all(asked)).flatMap((answer) => (answer?.kind === 'report' ? [answer.report] : []));
  }

  /** A process that stands still keeps its connections: the requests in it would wait for ever, and new ones be given to it. */
  #endSilent(): void {
    for (const child of this.#silent.keys()) {
      void this.#ask(child, 'ping').then((answer) => {
        const before = this.#silent.get(child);
        if (before === undefined || this.#draining) return;
        const times = answer === null ? before + 1 : 0;
        this.#silent.set(child, times);
        if (times < SILENT_TIMES) return;
        this.#silent.delete(child);
        this.#options.log.error('worker hangs, ending it', { pid: child.pid });
        child.kill('SIGKILL');
      });
    }
  }

  /** The answer; null when there is none in time. */
  #ask(child: ChildProcess, kind: 'report' | 'ping'): Promise<Answer | null> {
    this.#turn += 1;
    const turn = this.#turn;
    return new Promise((resolve) => {
      const done = (answer: Answer | null): void => {
        clearTimeout(timer);
        this.#waiting.delete(turn);
        resolve(answer);
      };
      const timer = setTimeout(() => done(null), ANSWER_MS);
      this.#waiting.set(turn, done);
      this.#send(child, { kind, turn });
    });
  }

  #send(child: ChildProcess, message: ToWorker): void {
    if (child.connected) child.send(message, () => {});
  }

  #fork(index: number, patience: number): Promise<void> {
    const { path, runDir, replica, log, logFile } = this.#options;
    const entry = import.meta.url.replace(/worker-pool\.(ts|js)$/, 'worker-main.$1');
    const child = fork(fileURLToPath(entry), [path, String(index), runDir, logFile, replica], {
      execArgv: [...process.execArgv, YOUNG_SPACE],
    });
    this.#children.set(index, child);
    return new Promise((resolve, reject) => {
      let serving = false;
      child.on('message', (message: FromWorker) => {
        if ('turn' in message) this.#waiting.get(message.turn)?.(message);
        if (message.kind === 'ready') {
          serving = true;
          this.#silent.set(child, 0);
          resolve();
        }
        if (message.kind === 'failed') reject(new StartupError(`worker ${index} did not start: ${message.message}`));
      });
      child.once('exit', (code, signal) => {
        this.#children.delete(index);
        this.#silent.delete(child);
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
