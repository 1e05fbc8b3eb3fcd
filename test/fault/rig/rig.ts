import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { quietPorts } from '../../support/quiet-ports.ts';
import { startEnvoy } from '../../../src/app/envoy-process.ts';
import { load } from '../../../src/app/load.ts';
import { waitUntil } from '../../../src/app/wait-until.ts';
import type { LedgerEvent } from '../../../src/core/ledger-event.ts';
import { BOOTSTRAP_FILE, renderEnvoy } from '../../../src/render/render-envoy.ts';
import { writeFiles } from '../../../src/render/write-files.ts';
import { createRedisStores } from '../../../src/store/redis/redis-stores.ts';
import type { Stores } from '../../../src/store/stores.ts';
import { silentLog, silentMetrics } from '../../../src/telemetry/silent.ts';
import { type ConfigPart, signToken, TEST_ISSUER, TEST_SECRET } from '../../support/gateway.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { type CountingUpstream, startCountingUpstream } from './counting-upstream.ts';
import { type Client, createClient } from './load.ts';
import { type ServerChild, serverChild } from './server-child.ts';

/** Known to the gateway alone: what comes to the upstream without it was not judged. */
const CREDENTIAL = 'credential-that-only-the-gateway-sets';

/** Limits so high that they never refuse, and count all the same: tokens, and units of money. */
const DAILY = { tokens: 900_000_000_000, spend: 900_000_000 } as const;
const MICRO = 1_000_000;

/** What a million tokens cost, with figures that do not come out even. */
export const RIG_PRICE = { prompt_per_mtok: 1.37, completion_per_mtok: 2.91 } as const;

export interface RigOptions {
  /** Merged over the base at the top level. */
  readonly config?: ConfigPart | ((upstreamPort: number) => ConfigPart);
  readonly server?: ConfigPart;
  readonly workers?: number;
  /** `tokenlat serve` processes behind one Envoy. */
  readonly servers?: number;
  readonly appendonly?: boolean;
  /** So long by default that a store which is late on a busy machine is not what is judged. */
  readonly commandTimeout?: string;
  /** Environment of the servers. */
  readonly env?: Readonly<Record<string, string>>;
  /** Keep an audit log: in `audit-<n>` of the folder, for server n. */
  readonly audit?: boolean;
  /** Last changes to the files that Envoy reads, by name. */
  readonly edit?: (files: Map<string, string>) => void;
}

/** Everything as processes of its own, so that each can be killed. */
export interface Rig {
  readonly dir: string;
  readonly origin: string;
  readonly servers: readonly ServerChild[];
  readonly redis: RedisServer;
  readonly upstream: CountingUpstream;
  readonly client: Client;
  readonly token: string;
  /** Straight to Redis, for reading. */
  readonly stores: Stores;
  readonly envoyPid: number;
  /** All of the ledger. */
  readonly ledger: () => Promise<readonly LedgerEvent[]>;
  /** What the day's counters hold; money in micro-units. */
  readonly counted: () => Promise<{ readonly tokens: number; readonly spend: number }>;
  readonly envoyStats: (filter: string) => Promise<Readonly<Record<string, number>>>;
  readonly metric: (name: string, server?: number) => Promise<number>;
  readonly stop: () => Promise<void>;
}

/** Starts Redis, the counting upstream, the servers and Envoy. */
export async function startRig(options: RigOptions = {}): Promise<Rig> {
  const stops: (() => unknown)[] = [];
  const stop = async (): Promise<void> => {
    for (const step of stops.splice(0).toReversed()) await step();
  };
  try {
    return { ...(await build(options, stops)), stop };
  } catch (reason) {
    await stop();
    throw reason;
  }
}

/** `stops` gets what ends each part that runs. */
async function build(options: RigOptions, stops: (() => unknown)[]): Promise<Omit<Rig, 'stop'>> {
  const { workers = 1, servers: count = 1, appendonly = true, edit, env = {} } = options;
  const dir = mkdtempSync(join(tmpdir(), 'tl-f-'));
  stops.push(() => {
    if (process.env['TOKENLAT_KEEP'] === undefined) rmSync(dir, { recursive: true, force: true });
    else process.stderr.write(`kept ${dir}\n`);
  });
  const [listen = 0, admin = 0, ...ops] = await quietPorts(2 + count);
  const redis = await startRedis({ appendonly });
  stops.push(() => redis.stop());
  const upstream = await startCountingUpstream(CREDENTIAL);
  stops.push(() => upstream.close());
  const servers = ops.map((opsPort, index) => {
    const config = join(dir, `tokenlat-${index}.yaml`);
    const sockets = join(dir, `s${index}`);
    mkdirSync(sockets);
    writeFileSync(
      config,
      configOf(options, {
        listen,
        admin,
        ops: opsPort,
        sockets,
        upstream: upstream.port,
        redis: redis.url,
        workers,
        index,
      }),
    );
    return serverChild({
      config,
      state: join(dir, `run${index}`),
      opsPort,
      logFile: join(dir, `server-${index}.log`),
      env,
    });
  });
  stops.push(() => Promise.all(servers.map((server) => server.kill())));
  await Promise.all(servers.map((server) => server.start()));
  const envoyDir = join(dir, 'envoy');
  mkdirSync(envoyDir);
  const { snapshot } = load(join(dir, 'tokenlat-0.yaml'));
  const files = new Map(renderEnvoy(snapshot, { nodeId: 'fault', dir: envoyDir }).files);
  if (count > 1) files.set('clusters.yaml', withServers(files.get('clusters.yaml') ?? '', dir, count));
  edit?.(files);
  writeFiles(envoyDir, files);
  const envoy = await startEnvoy({
    config: join(envoyDir, BOOTSTRAP_FILE),
    dir: envoyDir,
    adminPort: admin,
    concurrency: 2,
    onExit: (reason) => process.stderr.write(`${reason}\n`),
  });
  stops.push(() => envoy.stop());
  const stores = createRedisStores({
    redis: { url: redis.url, sentinel: null, cluster: null, commandTimeoutMs: 5000, keyPrefix: 'tl:' },
    ledger: snapshot.ledger,
    log: silentLog,
    metrics: silentMetrics,
  });
  stops.push(() => stores.close());
  await stores.ready(5000);
  const origin = `http://127.0.0.1:${listen}`;
  const token = await signToken({ exp: Math.floor(Date.now() / 1000) + 3600 });
  const client = createClient(origin, token);
  stops.push(() => client.close());
  return {
    dir,
    origin,
    servers,
    redis,
    upstream,
    client,
    token,
    stores,
    envoyPid: envoy.pid,
    ledger: () => readLedger(stores),
    counted: () => counted(stores),
    envoyStats: (filter) => envoyStats(admin, filter),
    metric: (name, server = 0) => metric(servers[server]?.ops ?? '', name),
  };
}

interface Places {
  readonly listen: number;
  readonly admin: number;
  readonly ops: number;
  readonly sockets: string;
  readonly upstream: number;
  readonly redis: string;
  readonly workers: number;
  readonly index: number;
}

function configOf(options: RigOptions, places: Places): string {
  const { config = {}, server = {}, commandTimeout = '1s', audit = false } = options;
  const { listen, admin, ops, sockets, upstream, redis, workers, index } = places;
  const part = typeof config === 'function' ? config(upstream) : config;
  return stringify({
    version: 1,
    listen: { address: '127.0.0.1', port: listen, admin_port: admin },
    server: {
      workers,
      socket_dir: sockets,
      ops: { address: '127.0.0.1', port: ops },
      message_timeout: '2s',
      ...server,
    },
    redis: { url: redis, command_timeout: commandTimeout },
    auth: { issuers: [{ issuer: TEST_ISSUER, algorithms: ['HS256'], secret: TEST_SECRET }] },
    backends: [
      {
        name: 'counting',
        dialect: 'openai',
        endpoints: [{ url: `http://127.0.0.1:${upstream}/v1` }],
        credentials: { header: 'authorization', value: `Bearer ${CREDENTIAL}` },
      },
    ],
    models: [
      {
        name: 'chaos',
        deployments: [
          {
            backend: 'counting',
            model: 'm',
            price: RIG_PRICE,
            profile: { context: 100_000_000 },
          },
        ],
      },
    ],
    tenants: [{ name: 'acme', limits: { tokens_per_day: DAILY.tokens, spend_per_day: DAILY.spend } }],
    ledger: { lease: '3s', on_crash: 'charge' },
    ...(audit ? { audit: auditOf(index) } : {}),
    ...part,
  });
}

function auditOf(index: number): ConfigPart {
  return {
    dir: `audit-${index}`,
    key_file: `audit-${index}.pem`,
    on_error: 'block',
    checkpoint: { every: '1s', dir: `checkpoints-${index}` },
  };
}

async function counted({ quota }: Pick<Stores, 'quota'>): Promise<{ readonly tokens: number; readonly spend: number }> {
  const window = { kind: 'calendar', unit: 'day' } as const;
  const limits = { tokens: DAILY.tokens, spend: DAILY.spend * MICRO };
  const states = await quota.peek('acme', [
    { scope: 'tenant', unit: 'tokens', window, limit: limits.tokens },
    { scope: 'tenant', unit: 'spend', window, limit: limits.spend },
  ]);
  const [tokens = 0, spend = 0] = states.map(({ line, remaining }) => line.limit - remaining);
  return { tokens, spend };
}

/** Puts the workers of every server into the one cluster that Envoy knows. */
function withServers(clusters: string, dir: string, count: number): string {
  const first = join(dir, 's0', 'worker-0.sock');
  const lines = clusters.split('\n');
  const at = lines.findIndex((line) => line.includes(first));
  const begin = lines.slice(0, at + 1).findLastIndex((line) => line.trimStart().startsWith('- endpoint'));
  const block = lines.slice(begin, at + 1);
  const others = Array.from({ length: count - 1 }, (_, index) =>
    block.map((line) => line.replace(first, join(dir, `s${index + 1}`, 'worker-0.sock'))),
  );
  return [...lines.slice(0, at + 1), ...others.flat(), ...lines.slice(at + 1)].join('\n');
}

async function readLedger(stores: Stores): Promise<readonly LedgerEvent[]> {
  const events: LedgerEvent[] = [];
  for (let after: string | null = null; ;) {
    const part: Awaited<ReturnType<Stores['ledger']['read']>> = await stores.ledger.read('acme', after, 1000);
    events.push(...part.map(({ event }) => event));
    const last = part.at(-1);
    if (last === undefined) return events;
    after = last.id;
  }
}

async function envoyStats(admin: number, filter: string): Promise<Readonly<Record<string, number>>> {
  const response = await fetch(`http://127.0.0.1:${admin}/stats?filter=${encodeURIComponent(filter)}`);
  const lines = (await response.text()).split('\n').filter((line) => /: \d+$/.test(line));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(':')), Number(line.slice(line.lastIndexOf(':') + 1))]),
  );
}

/** Sum of the samples whose line begins with `name`. */
async function metric(ops: string, name: string): Promise<number> {
  const text = await (await fetch(`${ops}/metrics`)).text();
  return text
    .split('\n')
    .filter((line) => line.startsWith(name))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

/** Waits until no reservation is open; gives how many milliseconds that took, or null after `timeoutMs`. */
export async function untilSettled(rig: Pick<Rig, 'stores'>, timeoutMs: number): Promise<number | null> {
  const began = performance.now();
  const isDone = await waitUntil(async () => (await rig.stores.ledger.open()) === 0, { timeoutMs, everyMs: 100 });
  return isDone ? performance.now() - began : null;
}
