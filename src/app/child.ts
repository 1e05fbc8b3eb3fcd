import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, type WriteStream } from 'node:fs';
import { StartupError } from './startup-error.ts';

export interface ChildOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Where its output goes. */
  readonly logFile: string;
  /** Grace between SIGTERM and SIGKILL. */
  readonly stopMs: number;
  readonly onExit: (reason: string) => void;
}

/** A server program that we started and that ends with us. */
export interface Child {
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts `command`; an exit that we did not ask for goes to `onExit`. Throws `StartupError` when it cannot be started. */
export async function startChild({ name, command, args, logFile, stopMs, onExit }: ChildOptions): Promise<Child> {
  const log = createWriteStream(logFile, { flags: 'a', mode: 0o600 });
  log.on('error', (error) => onExit(`the log of ${name} cannot be written: ${error.message}`));
  // A group of its own: Ctrl-C in a terminal is for us, and we end our children in order.
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  // What it still had in its pipes comes after its exit.
  child.once('close', () => log.end());
  let stopping = false;
  const gone = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      resolve();
      if (!stopping) onExit(`${name} ended by itself (${signal ?? `exit code ${code}`}); its log is ${logFile}`);
    });
  });
  await started(child, name, log);
  const killOnExit = (): void => void child.kill('SIGKILL');
  process.once('exit', killOnExit);
  return {
    pid: child.pid ?? 0,
    async stop() {
      if (stopping) return gone;
      stopping = true;
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), stopMs);
      await gone;
      clearTimeout(timer);
      process.removeListener('exit', killOnExit);
    },
  };
}

function started(child: ChildProcess, name: string, log: WriteStream): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', () => resolve());
    child.once('error', (cause) => {
      log.end();
      reject(new StartupError(`cannot start ${name}: ${cause.message}`, { cause }));
    });
  });
}
