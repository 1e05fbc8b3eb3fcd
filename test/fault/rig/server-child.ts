import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import path from 'node:path';
import { waitUntil } from '../../../src/app/wait-until.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const MAIN = path.join(ROOT, 'src/cli/main.ts');

/** What a program said before it ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

/** Runs `tokenlat` with `args` to its end; kills it after `timeoutMs`. */
export function runTokenlat(
  args: readonly string[],
  {
    env = {},
    timeoutMs = 20_000,
  }: { readonly env?: Readonly<Record<string, string>>; readonly timeoutMs?: number } = {},
): Promise<Ended> {
  const began = performance.now();
  const child = spawn(process.execPath, [MAIN, ...args], { cwd: ROOT, env: { ...process.env, ...env } });
  const said = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (said.stdout += String(chunk)));
  child.stderr.on('data', (chunk) => (said.stderr += String(chunk)));
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  return new Promise((resolve) => {
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, ...said, ms: performance.now() - began });
    });
  });
}

/** `tokenlat serve` as a process that can be killed. */
export interface ServerChild {
  readonly pid: () => number;
  readonly ops: string;
  /** Starts it again; resolves when it says that it is ready, or after `timeoutMs` without. */
  readonly start: (timeoutMs?: number) => Promise<void>;
  /** SIGKILL; resolves when it is gone. */
  readonly kill: () => Promise<void>;
  /** SIGTERM; its exit code, or its signal. */
  readonly term: () => Promise<number | NodeJS.Signals | null>;
  /** Its exit code, or its signal, once it ends by itself. */
  readonly ended: () => Promise<number | NodeJS.Signals | null>;
  /** Its worker processes, when it has any. */
  readonly workers: () => readonly number[];
  readonly log: () => string;
  /** Resident bytes of the process and its workers. */
  readonly rss: () => number;
}

export interface ServerChildOptions {
  readonly config: string;
  readonly state: string;
  readonly opsPort: number;
  readonly logFile: string;
  readonly env?: Readonly<Record<string, string>>;
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export function serverChild({ config, state, opsPort, logFile, env = {} }: ServerChildOptions): ServerChild {
  const ops = `http://127.0.0.1:${opsPort}`;
  let child: ChildProcess | null = null;
  let gone: Promise<number | NodeJS.Signals | null> = Promise.resolve(null);
  const launch = (): ChildProcess => {
    const started = spawn(process.execPath, [MAIN, 'serve', '-c', config, '--state', state], {
      cwd: ROOT,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const log = createWriteStream(logFile, { flags: 'a' });
    started.stdout.pipe(log);
    started.stderr.pipe(log);
    running.add(started);
    gone = new Promise((resolve) => {
      started.once('exit', (code, signal) => {
        running.delete(started);
        resolve(signal ?? code);
      });
    });
    return started;
  };
  const pid = (): number => child?.pid ?? -1;
  const workers = (): readonly number[] => childrenOf(pid());
  return {
    pid,
    ops,
    async start(timeoutMs = 15_000) {
      const started = launch();
      child = started;
      const isReady = await waitUntil(() => ready(ops), { timeoutMs, stop: () => !running.has(started) });
      if (!isReady) throw new Error(`the server is not ready; its log:\n${readFileSync(logFile, 'utf8').slice(-2000)}`);
    },
    async kill() {
      child?.kill('SIGKILL');
      await gone;
    },
    term: () => {
      child?.kill('SIGTERM');
      return gone;
    },
    ended: () => gone,
    workers,
    log: () => readFileSync(logFile, 'utf8'),
    rss: () => [pid(), ...workers()].reduce((sum, one) => sum + rssOf(one), 0),
  };
}

async function ready(ops: string): Promise<boolean> {
  try {
    return (await fetch(`${ops}/readyz`, { signal: AbortSignal.timeout(1000) })).ok;
  } catch {
    return false;
  }
}

function childrenOf(parent: number): readonly number[] {
  try {
    const text = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim();
    return text === '' ? [] : text.split(' ').map(Number);
  } catch {
    return [];
  }
}

/** Milliseconds for which its main thread was ready to run and had no processor; 0 where the system does not tell. */
export function waitedMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1] ?? 0) / 1e6;
  } catch {
    return 0;
  }
}

/** Resident bytes of a process; 0 when there is none. */
export function rssOf(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
