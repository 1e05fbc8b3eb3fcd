import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { ROOT } from './generated.ts';

/** The Envoy that the set-up fetched, or the one that the environment names. */
export function envoyBin(): string {
  const named = process.env['TOKENLAT_ENVOY_BIN'] ?? process.env['ENVOY_BIN'];
  const file = named ?? path.join(ROOT, '.cache', 'envoy-1.40.0', 'envoy');
  if (!fs.existsSync(file)) throw new Error(`there is no Envoy at ${file}: run npm run setup`);
  return file;
}

type Data = { [key: string]: unknown };

/** The files of a rendered folder as one static bootstrap: `--mode validate` looks into nothing that comes by xDS. */
export function staticBootstrap(files: ReadonlyMap<string, string>): Data {
  const read = (name: string): Data[] => {
    const text = files.get(name);
    return text === undefined
      ? []
      : (parse(text) as { resources: Data[] }).resources.map(({ '@type': _type, ...rest }) => rest);
  };
  const { dynamic_resources: _dynamic, ...bootstrap } = parse(files.get('envoy.yaml') ?? '') as Data;
  const listeners = JSON.parse(JSON.stringify(read('listener.yaml'))) as Data[];
  const [routes] = read('routes.yaml');
  for (const manager of find(listeners, (node) => 'rds' in node)) {
    delete manager['rds'];
    manager['route_config'] = routes;
  }
  const clusters = read('clusters.yaml').map((cluster) => {
    const [assignment] = read(`endpoints-${String(cluster['name'])}.yaml`);
    if (assignment === undefined) return cluster;
    const { type: _type, eds_cluster_config: _eds, ...rest } = cluster;
    return { ...rest, type: 'STATIC', load_assignment: assignment };
  });
  return { ...bootstrap, static_resources: { listeners, clusters, secrets: read('certificate.yaml') } };
}

/** Every object in a tree for which `test` holds. */
export function find(node: unknown, test: (node: Data) => boolean): Data[] {
  if (typeof node !== 'object' || node === null) return [];
  const below = Object.values(node).flatMap((child) => find(child, test));
  return !Array.isArray(node) && test(node as Data) ? [node as Data, ...below] : below;
}

/** What `envoy --mode validate` says: empty when it is content. */
export function validate(dir: string, bootstrap: unknown): string {
  const file = path.join(dir, 'validate.json');
  fs.writeFileSync(file, JSON.stringify(bootstrap));
  const run = spawnSync(envoyBin(), ['--mode', 'validate', '-l', 'warning', '-c', file], { encoding: 'utf8' });
  return run.status === 0 && !/deprecated|error|warning/i.test(run.stderr) ? '' : `${run.status} ${run.stderr}`;
}

export interface RunningEnvoy {
  readonly admin: (path: string) => Promise<string>;
  /** Everything printed so far: log and access log. */
  readonly output: () => string;
  readonly stop: () => Promise<void>;
}

/** Starts Envoy on a rendered folder and waits until its listener is up. */
export async function startEnvoy(dir: string, adminPort: number): Promise<RunningEnvoy> {
  const baseId = String(10_000 + (process.pid % 20_000));
  const child = spawn(
    envoyBin(),
    ['-c', path.join(dir, 'envoy.yaml'), '--base-id', baseId, '--concurrency', '1', '-l', 'warning'],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const admin = async (name: string): Promise<string> => (await fetch(`http://127.0.0.1:${adminPort}${name}`)).text();
  const end = performance.now() + 15_000;
  for (;;) {
    const listeners = await admin('/listeners').catch(() => '');
    if (listeners.includes('tokenlat')) break;
    if (performance.now() > end || child.exitCode !== null) {
      child.kill('SIGKILL');
      throw new Error(`Envoy did not start: ${output}`);
    }
    await sleep(50);
  }
  return {
    admin,
    output: () => output,
    stop: async () => {
      child.kill('SIGTERM');
      await exited;
    },
  };
}
