import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { quietPorts } from './quiet-ports.ts';

/** A redis-server of this test alone. */
export interface RedisServer {
  readonly url: string;
  readonly dir: string;
  readonly pid: () => number;
  /** Ends it in good order and removes its folder. */
  readonly stop: () => Promise<void>;
  /** SIGKILL; the folder stays for `restart`. */
  readonly kill: () => Promise<void>;
  /** Starts it again on the same port and folder. */
  readonly restart: () => Promise<void>;
  /** SIGSTOP and SIGCONT: it stays connected and says nothing. */
  readonly pause: () => void;
  readonly resume: () => void;
}

export interface RedisServerOptions {
  readonly appendonly?: boolean;
  readonly dir?: string;
  readonly args?: readonly string[];
  /** Text of a configuration file in front of all other options; a sentinel needs one that it can write. */
  readonly config?: string;
}

/** Every server that is still there when the test's process ends is killed. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a server on a free port and waits until it answers. Throws when no redis-server can be found. */
export async function startRedis({
  appendonly = false,
  dir,
  args = [],
  config,
}: RedisServerOptions = {}): Promise<RedisServer> {
  const folder = dir ?? fs.mkdtempSync(path.join(appendonly ? steadyFolder() : os.tmpdir(), 'tokenlat-redis-'));
  const [port = 0] = await quietPorts(1);
  const url = `redis://127.0.0.1:${port}`;
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--daemonize', 'no'];
  const durable = ['--appendonly', appendonly ? 'yes' : 'no', '--appendfsync', 'everysec', '--loglevel', 'warning'];
  const file = config === undefined ? [] : [path.join(folder, 'redis.conf')];
  for (const name of file) fs.writeFileSync(name, config ?? '');
  let child = launch();

  function launch(): ChildProcess {
    const started = spawn(redisBinary(), [...file, ...options, ...durable, ...args], { stdio: 'ignore' });
    running.add(started);
    started.once('exit', () => running.delete(started));
    return started;
  }
  async function end(signal: NodeJS.Signals): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    child.kill('SIGCONT');
    await gone;
  }

  await answers(url);
  return {
    url,
    dir: folder,
    pid: () => child.pid ?? -1,
    stop: async () => {
      await end('SIGTERM');
      if (dir === undefined) fs.rmSync(folder, { recursive: true, force: true });
    },
    kill: () => end('SIGKILL'),
    restart: async () => {
      await end('SIGKILL');
      child = launch();
      await answers(url);
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  };
}

/** While an fsync runs, Redis holds back what it has acknowledged, up to two seconds; in memory none runs. */
function steadyFolder(): string {
  const shared = '/dev/shm';
  return fs.existsSync(shared) ? shared : os.tmpdir();
}

/** `TOKENLAT_REDIS_BIN`, else redis-server on PATH, else the newest one in the repository's cache folder. */
function redisBinary(): string {
  const named = process.env['TOKENLAT_REDIS_BIN'];
  if (named !== undefined && named !== '') return named;
  const cache = path.resolve(import.meta.dirname, '../../.cache');
  const cached = fs.globSync('redis-*/redis-server', { cwd: cache }).toSorted();
  const places = (process.env['PATH'] ?? '').split(path.delimiter).map((folder) => path.join(folder, 'redis-server'));
  const found = [...places, ...cached.toReversed().map((file) => path.join(cache, file))].find((file) =>
    fs.existsSync(file),
  );
  if (found === undefined) throw new Error('no redis-server: run `npm run setup`, or set TOKENLAT_REDIS_BIN');
  return found;
}

async function answers(url: string): Promise<void> {
  const client = new Redis(url, { retryStrategy: () => 20, maxRetriesPerRequest: null, maxLoadingRetryTime: 20 });
  client.on('error', () => {});
  const patience = setTimeout(() => client.disconnect(), 10_000);
  try {
    await client.ping();
  } finally {
    clearTimeout(patience);
    client.disconnect();
  }
}
