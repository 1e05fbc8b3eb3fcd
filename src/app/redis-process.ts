import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type Child, startChild } from './child.ts';
import { findProgram } from './find-program.ts';
import { StartupError } from './startup-error.ts';
import { waitUntil } from './wait-until.ts';

export interface LocalRedis extends Child {
  readonly url: string;
}

/** Starts a Redis of our own on a unix socket in `dir`, with its data kept there. Throws `StartupError`. */
export async function startLocalRedis(dir: string, onExit: (reason: string) => void): Promise<LocalRedis> {
  const command = findProgram('redis-server', ['TOKENLAT_REDIS_BIN'], process.env);
  if (command === null) {
    throw new StartupError(
      'no Redis: set redis.url in the configuration, or install redis-server (Debian: apt-get install redis-server)',
    );
  }
  mkdirSync(dir, { recursive: true });
  const socket = join(dir, 'redis.sock');
  const pidFile = join(dir, 'redis.pid');
  await endLeftover(socket, pidFile);
  let dead = false;
  const child = await startChild({
    name: 'Redis',
    command,
    args: Object.entries({
      port: '0',
      unixsocket: socket,
      unixsocketperm: '700',
      pidfile: pidFile,
      dir,
      appendonly: 'yes',
      appendfsync: 'everysec',
      save: '',
      'maxmemory-policy': 'noeviction',
    }).flatMap(([option, value]) => [`--${option}`, value]),
    logFile: join(dir, 'redis.log'),
    stopMs: 5000,
    onExit: (reason) => {
      dead = true;
      onExit(reason);
    },
  });
  const up = await waitUntil(() => accepts(socket), { timeoutMs: 10_000, stop: () => dead });
  if (!up) {
    await child.stop();
    throw new StartupError(`Redis did not start; see ${join(dir, 'redis.log')}`);
  }
  return { ...child, url: `unix://${socket}` };
}

/** A Redis of a run that was killed still has the data: two of them would write one file. It is ours, so it is ended. */
async function endLeftover(socket: string, pidFile: string): Promise<void> {
  if (!(await accepts(socket))) return;
  const pid = Number(existsSync(pidFile) ? readFileSync(pidFile, 'utf8') : Number.NaN);
  if (!Number.isSafeInteger(pid) || pid <= 1) {
    throw new StartupError(`a Redis that is not ours listens on ${socket}: end it, or choose another --state`);
  }
  process.kill(pid, 'SIGTERM');
  const ended = await waitUntil(async () => !(await accepts(socket)), { timeoutMs: 10_000 });
  if (!ended)
    throw new StartupError(`the Redis of an earlier run (process ${pid}) does not end: end it, then try again`);
}

function accepts(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
