import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { waitUntil } from '../../../src/app/wait-until.ts';

/** `power`: no packet is answered any more. `kill`: SIGKILL. `hang`: SIGSTOP, so that the kernel still acknowledges all. */
export const DEATHS = ['power', 'kill', 'hang'] as const;
export type Death = (typeof DEATHS)[number];

/** An OpenAI server in a process of its own that dies in one of three ways. What it does with a request stands in its id. */
export interface MortalBackend {
  readonly port: number;
  /** Ids of the requests that it has and will not answer. */
  readonly held: ReadonlySet<string>;
  /** Resolves when it is dead. */
  readonly die: (how: Death) => Promise<void>;
  readonly close: () => void;
}

const PROGRAM = path.join(import.meta.dirname, 'mortal_backend.py');
const PATIENCE_MS = 10_000;

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts one. Needs python3 on PATH, and Linux. */
export async function startMortalBackend(): Promise<MortalBackend> {
  const child = spawn('python3', [PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] });
  running.add(child);
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const held = new Set<string>();
  let port = 0;
  let isDead = false;
  createInterface(child.stdout).on('line', (line) => {
    const [word, value = ''] = line.split(' ');
    if (word === 'port') port = Number(value);
    if (word === 'held') held.add(value);
    if (word === 'dead') isDead = true;
  });
  const close = (): void => {
    child.kill('SIGKILL');
    running.delete(child);
  };
  const until = async (check: () => boolean, what: string): Promise<void> => {
    if (await waitUntil(async () => check(), { timeoutMs: PATIENCE_MS, everyMs: 10 })) return;
    close();
    throw new Error(`a backend that was to ${what} did not`);
  };
  await until(() => port > 0, 'start');
  return {
    port,
    held,
    async die(how) {
      if (how === 'kill') {
        child.kill('SIGKILL');
        await gone;
      } else if (how === 'hang') child.kill('SIGSTOP');
      else {
        child.stdin.write('power\n');
        await until(() => isDead, 'lose its power');
      }
    },
    close,
  };
}
