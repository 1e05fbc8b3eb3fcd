import { join, resolve } from 'node:path';
import { followRollout } from '../control/rollout/follow-rollout.ts';
import type { Log } from '../core/ports/telemetry.ts';
import { ownOrigin } from '../config/own-origin.ts';
import { BOOTSTRAP_FILE } from '../render/render-envoy.ts';
import { type FollowedEnvoyFiles, followEnvoyFiles } from './follow-envoy-files.ts';
import { findEnvoy, startEnvoy } from './envoy-process.ts';
import { load, type LoadedConfig, SOCKET_DIR_VARIABLE } from './load.ts';
import { LOCAL_REDIS_VARIABLE } from './local-redis.ts';
import { makeFolder } from './make-folder.ts';
import { openStores } from './open-stores.ts';
import { startLocalRedis } from './redis-process.ts';
import { requireFreePort } from './require-free-port.ts';
import { redisPlace } from '../store/redis/redis-place.ts';
import { silentLog, silentMetrics } from '../telemetry/silent.ts';
import { serve } from './serve.ts';

/** How long a start waits for the store before it goes on without it. */
const STORE_WAIT_MS = 2000;

export interface UpOptions {
  readonly path: string;
  /** Where everything that runs keeps its files. */
  readonly stateDir: string;
  readonly log: Log;
  /** Where worker processes write their lines; standard output when left out. */
  readonly logFile?: string;
  /** A part that we started has died: nothing works without it. */
  readonly onFatal: (reason: string) => void;
}

/** What runs, and how to reach it. */
export interface Up {
  readonly url: string;
  readonly loaded: LoadedConfig;
  readonly startedRedis: boolean;
  /** Where a Redis was looked for that does not answer; null when it does. */
  readonly silentRedis: string | null;
  stop(): Promise<void>;
}

/** Everything for one machine: Redis if the configuration names none, the server, Envoy. Throws `StartupError`. */
export async function up({ path, stateDir, log, logFile, onFatal }: UpOptions): Promise<Up> {
  const dir = resolve(stateDir);
  makeFolder(dir, { key: '--state', mode: 0o700 });
  findEnvoy();
  process.env[SOCKET_DIR_VARIABLE] ??= join(dir, 'sockets');
  const asked = load(path);
  const { listen } = asked.snapshot;
  await requireFreePort(listen.address, listen.port, 'listen.port');
  await requireFreePort('127.0.0.1', listen.adminPort, 'listen.admin_port');
  const stops: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const step of stops.splice(0).toReversed()) await step();
  };
  try {
    const redis = asked.snapshot.redis === null ? await startLocalRedis(join(dir, 'redis'), onFatal) : null;
    if (redis !== null) {
      stops.push(() => redis.stop());
      process.env[LOCAL_REDIS_VARIABLE] = redis.url;
    }
    const loaded = load(path);
    const served = await serve({
      loaded,
      runDir: join(dir, 'run'),
      log,
      ...(logFile === undefined ? {} : { logFile }),
    });
    stops.push(() => served.stop({ envoyGone: true }));
    const envoyDir = join(dir, 'envoy');
    const files = followEnvoyFiles({ loaded, dir: envoyDir, log });
    stops.push(async () => files.close());
    const rollouts = await followRolloutOf(loaded, files.onRollout, log);
    stops.push(rollouts.close);
    const envoy = await startEnvoy({
      config: join(envoyDir, BOOTSTRAP_FILE),
      dir: envoyDir,
      adminPort: listen.adminPort,
      concurrency: loaded.snapshot.server.workers,
      onExit: onFatal,
    });
    stops.push(async () => {
      await envoy.drain(loaded.snapshot.server.drainMs);
      await envoy.stop();
    });
    return {
      url: `${ownOrigin({ address: listen.address, port: listen.port, tls: listen.tls !== null })}/v1`,
      loaded,
      startedRedis: redis !== null,
      silentRedis: rollouts.silentRedis,
      stop,
    };
  } catch (reason) {
    await stop();
    throw reason;
  }
}

/** Envoy has to know the backends of a configuration that is rolled out. */
async function followRolloutOf(
  loaded: LoadedConfig,
  onChange: FollowedEnvoyFiles['onRollout'],
  log: Log,
): Promise<{ readonly silentRedis: string | null; readonly close: () => Promise<void> }> {
  // Workers tell of the store already.
  const stores = openStores(() => loaded.snapshot, silentLog, silentMetrics);
  const isUp = await stores.ready(STORE_WAIT_MS);
  const { redis } = loaded.snapshot;
  const following = followRollout({ store: stores.directory, onChange, log });
  // What is in force already must be there before the first request.
  await following.ready(STORE_WAIT_MS);
  return {
    silentRedis: isUp || redis === null ? null : redisPlace(redis),
    async close() {
      following.close();
      await stores.close();
    },
  };
}
