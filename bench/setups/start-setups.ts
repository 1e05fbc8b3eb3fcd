import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from '../../scripts/demo/free-ports.ts';
import { load } from '../../src/app/load.ts';
import { startLocalRedis } from '../../src/app/redis-process.ts';
import { waitUntil } from '../../src/app/wait-until.ts';
import { withWholeLog } from './whole-log.ts';
import { BOOTSTRAP_FILE, renderEnvoy } from '../../src/render/render-envoy.ts';
import { writeFiles } from '../../src/render/write-files.ts';
import type { Payload } from '../payload.ts';
import { PEERS } from '../peers/all.ts';
import type { Canned, CannedSet } from './canned.ts';
import { startProgram, startScript } from './child-process.ts';
import { envoyAlone } from './envoy-alone.ts';
import { gatewayConfig, type GatewayShape } from './gateway-config.ts';
import { answers, START_MS, startEnvoy, untilServed } from './programs.ts';
import type { Setup, SetupName } from './setup.ts';

const ROOT = join(import.meta.dirname, '../..');

export interface StartOptions {
  /** Where everything that runs keeps its files. */
  readonly dir: string;
  /** A part of the run: its setups have a folder of their own. */
  readonly stage: string;
  /** What is to be measured; nothing else is started. */
  readonly names: ReadonlySet<SetupName>;
  /** What the echo has to know; the first one is also the probe of what was started. */
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

interface Base {
  readonly dir: string;
  readonly stops: Stop[];
  readonly modelPort: number;
  readonly redis: { readonly url: string; readonly pid: number };
}

const EVERYTHING: GatewayShape = { workers: 1, everything: true };

/** The gateways of ours that are measured; those that are not `everything` keep their state in memory. */
const GATEWAYS: readonly (readonly [SetupName, GatewayShape])[] = [
  ['tokenlat', EVERYTHING],
  ['tokenlat-grpc-js', { ...EVERYTHING, grpc: 'grpc-js' }],
  ['tokenlat-2', { ...EVERYTHING, workers: 2 }],
  ['tokenlat-no-limits', { ...EVERYTHING, limits: 'none' }],
  ['tokenlat-all-limits', { ...EVERYTHING, limits: 'all' }],
  ['tokenlat-spare', { ...EVERYTHING, spare: true }],
  ['tokenlat-logged', { ...EVERYTHING, spare: true, logged: true }],
  ['tokenlat-10-tenants', { ...EVERYTHING, tenants: 10 }],
  ['tokenlat-10k-tenants', { ...EVERYTHING, tenants: 10_000 }],
  ['tokenlat-1k-routes', { ...EVERYTHING, routes: 1000 }],
  ['tokenlat-minimal', { workers: 1, everything: false }],
];

/** Starts the model server, Redis and every setup that is asked for. */
export async function startSetups({ dir: root, stage, names, payloads, nodeArgs }: StartOptions): Promise<Setups> {
  const stops: Stop[] = [];
  const dir = join(root, stage);
  mkdirSync(dir);
  const model = await startScript(join(ROOT, 'bench/model-main.ts'), [], join(dir, 'model.log'));
  stops.push(() => model.stop());
  const modelPort = (model.hello as { port: number }).port;
  const redis = await startLocalRedis(join(dir, 'redis'), fail);
  stops.push(() => redis.stop());
  const base: Base = { dir, stops, modelPort, redis };
  const all: Setup[] = [];
  if (names.has('direct')) {
    all.push({ name: 'direct', port: modelPort, admin: null, processes: {}, prepare: async () => {} });
  }
  if (names.has('envoy')) all.push(await startAlone(await place(base, 'envoy', EVERYTHING)));
  if (names.has('echo')) all.push(await startEcho(await place(base, 'echo', EVERYTHING), payloads));
  for (const [name, shape] of GATEWAYS) {
    const args = name === 'tokenlat' || name === 'tokenlat-minimal' ? nodeArgs : [];
    const pid = shape.everything ? redis.pid : null;
    if (!names.has(name)) continue;
    const setup = await startGateway(await place(base, name, shape), args, pid);
    all.push(shape.tenants === undefined ? setup : { ...setup, tenants: shape.tenants });
  }
  all.push(...(await startPeers(base, names, payloads)));
  return {
    all,
    async stop() {
      for (const stop of stops.toReversed()) await stop();
    },
  };
}

async function startPeers(
  { dir, modelPort, stops }: Base,
  names: ReadonlySet<SetupName>,
  [probe]: readonly Payload[],
): Promise<readonly Setup[]> {
  const all: Setup[] = [];
  for (const peer of PEERS) {
    if (!names.has(peer.name) || probe === undefined) continue;
    const own = join(dir, peer.name);
    mkdirSync(own);
    all.push(await peer.start({ dir: own, modelPort, probe, stops }));
  }
  return all;
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
  readonly logged: boolean;
  readonly stops: Stop[];
}

async function place(base: Base, name: SetupName, shape: GatewayShape): Promise<Place> {
  const dir = join(base.dir, name);
  const socketDir = join(dir, 's');
  mkdirSync(socketDir, { recursive: true });
  const [listen = 0, admin = 0, ops = 0] = await freePorts(3);
  const config = join(dir, 'tokenlat.yaml');
  const withRedis = shape.everything && name.startsWith('tokenlat');
  const redis = withRedis ? base.redis.url : null;
  writeFileSync(config, gatewayConfig(shape, { listen, admin, ops, model: base.modelPort, socketDir, redis }));
  const { workers, logged = false } = shape;
  return { name, dir, config, socketDir, listen, admin, ops, workers, logged, stops: base.stops };
}

async function startAlone(at: Place): Promise<Setup> {
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
    await untilServed({ ...at, port: at.listen }, first);
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
    await untilServed({ ...at, port: at.listen }, payload);
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
  const { files } = renderEnvoy(load(at.config).snapshot, { nodeId: 'bench', dir });
  writeFiles(dir, at.logged ? withWholeLog(files) : files);
  return startEnvoy(at, join(dir, BOOTSTRAP_FILE));
}

function setupOf(at: Place, processes: Setup['processes']): Setup {
  return { name: at.name, port: at.listen, admin: at.admin, processes, prepare: async () => {} };
}

function fail(reason: string): never {
  process.stderr.write(`bench: ${reason}\n`);
  process.exit(1);
}
