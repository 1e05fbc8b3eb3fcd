import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { freePorts } from '../../scripts/demo/free-ports.ts';
import { findEnvoy } from '../../src/app/envoy-process.ts';
import { load } from '../../src/app/load.ts';
import { startLocalRedis } from '../../src/app/redis-process.ts';
import { waitUntil } from '../../src/app/wait-until.ts';
import { BOOTSTRAP_FILE, renderEnvoy } from '../../src/render/render-envoy.ts';
import { writeFiles } from '../../src/render/write-files.ts';
import type { Payload } from '../payload.ts';
import type { Canned, CannedSet } from './canned.ts';
import { startProgram, startScript } from './child-process.ts';
import { envoyAlone } from './envoy-alone.ts';
import { gatewayConfig, type GatewayShape } from './gateway-config.ts';
import type { Setup, SetupName } from './setup.ts';

const ROOT = join(import.meta.dirname, '../..');
const START_MS = 20_000;

export interface StartOptions {
  /** Where everything that runs keeps its files. */
  readonly dir: string;
  readonly payloads: readonly Payload[];
  /** Extra arguments of Node for the gateway with everything on. */
  readonly nodeArgs: readonly string[];
}

/** Everything that is measured, running side by side, idle. */
export interface Setups {
  readonly all: readonly Setup[];
  stop(): Promise<void>;
}

type Stop = () => Promise<void>;

/** Starts the model server, Redis and every setup. */
export async function startSetups({ dir, payloads, nodeArgs }: StartOptions): Promise<Setups> {
  const stops: Stop[] = [];
  const model = await startScript(join(ROOT, 'bench/model-main.ts'), [], join(dir, 'model.log'));
  stops.push(() => model.stop());
  const modelPort = (model.hello as { port: number }).port;
  const redis = await startLocalRedis(join(dir, 'redis'), fail);
  stops.push(() => redis.stop());
  const base = { dir, stops, modelPort, redis: null };
  const withRedis = { ...base, redis: redis.url };
  const everything: GatewayShape = { workers: 1, everything: true };
  const direct: Setup = { name: 'direct', port: modelPort, admin: null, processes: {}, prepare: async () => {} };
  const all = [
    direct,
    await startAlone(place(base, 'envoy', everything)),
    await startEcho(await place(base, 'echo', everything), payloads),
    await startGateway(await place(withRedis, 'tokenlat', everything), nodeArgs, redis.pid),
    await startGateway(await place(withRedis, 'tokenlat-grpc-js', { ...everything, grpc: 'grpc-js' }), [], redis.pid),
    await startGateway(await place(withRedis, 'tokenlat-2', { ...everything, workers: 2 }), [], redis.pid),
    ...(await Promise.all(
      (['none', 'all'] as const).map(async (limits) => {
        const name = limits === 'none' ? 'tokenlat-no-limits' : 'tokenlat-all-limits';
        return startGateway(await place(withRedis, name, { ...everything, limits }), [], redis.pid);
      }),
    )),
    await startGateway(await place(base, 'tokenlat-minimal', { workers: 1, everything: false }), nodeArgs, null),
  ];
  return {
    all,
    async stop() {
      for (const stop of stops.toReversed()) await stop();
    },
  };
}

interface Place {
  readonly name: SetupName;
  readonly dir: string;
  readonly config: string;
  readonly socketDir: string;
  readonly listen: number;
  readonly admin: number;
  readonly ops: number;
  readonly workers: number;
  readonly stops: Stop[];
}

async function place(
  base: { readonly dir: string; readonly stops: Stop[]; readonly modelPort: number; readonly redis: string | null },
  name: SetupName,
  shape: GatewayShape,
): Promise<Place> {
  const dir = join(base.dir, name);
  const socketDir = join(dir, 's');
  mkdirSync(socketDir, { recursive: true });
  const [listen = 0, admin = 0, ops = 0] = await freePorts(3);
  const config = join(dir, 'tokenlat.yaml');
  writeFileSync(
    config,
    gatewayConfig(shape, { listen, admin, ops, model: base.modelPort, socketDir, redis: base.redis }),
  );
  return { name, dir, config, socketDir, listen, admin, ops, workers: shape.workers, stops: base.stops };
}

async function startAlone(placed: Promise<Place>): Promise<Setup> {
  const at = await placed;
  const file = join(at.dir, BOOTSTRAP_FILE);
  writeFileSync(file, envoyAlone(load(at.config).snapshot));
  return setupOf(at, { envoy: await startEnvoy(at, file) });
}

async function startEcho(at: Place, payloads: readonly Payload[]): Promise<Setup> {
  const envoy = await startRenderedEnvoy(at);
  const sets = await record(at, payloads);
  const echo = await startScript(
    join(ROOT, 'bench/echo-main.ts'),
    [join(at.socketDir, 'worker-0.sock')],
    join(at.dir, 'echo.log'),
  );
  at.stops.push(() => echo.stop());
  await echo.ask({ kind: 'load', sets });
  const prepare = async (name: string): Promise<void> => {
    await echo.ask({ kind: 'use', name });
  };
  const [first] = payloads;
  if (first !== undefined) {
    await prepare(first.name);
    await untilServed(at, first);
  }
  return { ...setupOf(at, { ext_proc: echo.pid, envoy }), prepare };
}

/** Has a real worker answer each payload once, and keeps what it said. */
async function record(at: Place, payloads: readonly Payload[]): Promise<CannedSet> {
  const args = [at.config, join(at.dir, 'run')];
  mkdirSync(join(at.dir, 'run'), { recursive: true });
  const recorder = await startScript(join(ROOT, 'bench/record-main.ts'), args, join(at.dir, 'record.log'));
  const sets: Record<string, Canned> = {};
  for (const payload of payloads) {
    await untilServed(at, payload);
    sets[payload.name] = (await recorder.ask<{ canned: Canned }>({ kind: 'tell' })).canned;
  }
  await recorder.stop();
  return sets;
}

async function startGateway(at: Place, nodeArgs: readonly string[], redis: number | null): Promise<Setup> {
  const gateway = await startProgram({
    command: process.execPath,
    args: [...nodeArgs, join(ROOT, 'src/cli/main.ts'), 'serve', '-c', at.config, '--state', join(at.dir, 'run')],
    logFile: join(at.dir, 'tokenlat.log'),
  });
  at.stops.push(() => gateway.stop());
  if (!(await waitUntil(() => answers(`http://127.0.0.1:${at.ops}/readyz`), { timeoutMs: START_MS }))) {
    throw new Error(`TokenLat did not start; see ${join(at.dir, 'tokenlat.log')}`);
  }
  const envoy = await startRenderedEnvoy(at);
  return setupOf(at, { ext_proc: gateway.pid, envoy, ...(redis === null ? {} : { redis }) });
}

function startRenderedEnvoy(at: Place): Promise<number> {
  const dir = join(at.dir, 'envoy');
  mkdirSync(dir, { recursive: true });
  writeFiles(dir, renderEnvoy(load(at.config).snapshot, { nodeId: 'bench', dir }).files);
  return startEnvoy(at, join(dir, BOOTSTRAP_FILE));
}

async function startEnvoy(at: Place, file: string): Promise<number> {
  const envoy = await startProgram({
    command: findEnvoy(),
    args: `-c ${file} --concurrency ${at.workers} --use-dynamic-base-id --log-level warning`.split(' '),
    logFile: join(at.dir, 'envoy.log'),
  });
  at.stops.push(() => envoy.stop());
  if (!(await waitUntil(() => answers(`http://127.0.0.1:${at.admin}/ready`), { timeoutMs: START_MS }))) {
    throw new Error(`Envoy did not start; see ${join(at.dir, 'envoy.log')}`);
  }
  return envoy.pid;
}

function setupOf(at: Place, processes: Setup['processes']): Setup {
  return { name: at.name, port: at.listen, admin: at.admin, processes, prepare: async () => {} };
}

async function untilServed(at: Place, payload: Payload): Promise<void> {
  if (!(await waitUntil(() => serves(at.listen, payload), { timeoutMs: START_MS }))) {
    throw new Error(`${at.name} does not serve ${payload.name}; see ${at.dir}`);
  }
}

function serves(port: number, payload: Payload): Promise<boolean> {
  return new Promise((resolve) => {
    const headers = { ...payload.headers, 'content-length': payload.body.length };
    const sent = request({ port, host: '127.0.0.1', method: 'POST', path: payload.path, headers }, (response) => {
      response.resume().once('close', () => resolve(response.statusCode === 200 && response.complete));
    });
    sent.once('error', () => resolve(false));
    sent.end(payload.body);
  });
}

async function answers(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(1000) }).then(
    (response) => response.ok,
    () => false,
  );
}

function fail(reason: string): never {
  process.stderr.write(`bench: ${reason}\n`);
  process.exit(1);
}
