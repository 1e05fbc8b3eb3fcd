import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';

/** A process of the bench. */
export interface Program {
  readonly pid: number;
  /** The first message of a script; null for anything else. */
  readonly hello: unknown;
  /** Sends a message to a script and gives the next one that comes. */
  ask<T>(message: object): Promise<T>;
  stop(): Promise<void>;
}

export interface ProgramOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** Where its output goes. */
  readonly logFile: string;
  /** It speaks over a channel, and says so when it is ready. */
  readonly channel?: boolean;
  /** On top of our own environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** How long a process may take to end by itself: writing a profile takes a while. */
const STOP_MS = 20_000;

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a program that ends with us. The bench ends when one ends by itself. */
export async function startProgram({
  command,
  args,
  logFile,
  channel = false,
  env = {},
  cwd = process.cwd(),
}: ProgramOptions): Promise<Program> {
  const log = openSync(logFile, 'a', 0o600);
  const child = spawn(command, args, {
    stdio: ['ignore', log, log, ...(channel ? (['ipc'] as const) : [])],
    env: { ...process.env, ...env },
    cwd,
  });
  closeSync(log);
  running.add(child);
  let stopping = false;
  child.once('exit', (code, signal) => {
    running.delete(child);
    if (stopping) return;
    process.stderr.write(`bench: ${command} ${args.join(' ')} ended (${signal ?? code}); see ${logFile}\n`);
    process.exit(1);
  });
  const hello = channel ? ((await once(child, 'message')) as unknown[])[0] : (await once(child, 'spawn'), null);
  return {
    pid: child.pid ?? 0,
    hello,
    async ask<T>(message: object): Promise<T> {
      const answer = once(child, 'message');
      child.send(message);
      return ((await answer) as [T])[0];
    },
    async stop() {
      if (stopping || child.exitCode !== null) return;
      stopping = true;
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await gone;
      clearTimeout(timer);
    },
  };
}

/** Starts a script of the bench and waits until it is ready. */
export function startScript(script: string, args: readonly string[], logFile: string): Promise<Program> {
  return startProgram({ command: process.execPath, args: [script, ...args], logFile, channel: true });
}
