import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { stringify } from 'yaml';
import { quietPorts } from './quiet-ports.ts';
import { openReading } from '../../src/app/open-reading.ts';
import { up } from '../../src/app/up.ts';
import { waitUntil } from '../../src/app/wait-until.ts';
import type { LedgerEvent } from '../../src/core/ledger-event.ts';
import type { RequestTrace } from '../../src/core/ports/trace-store.ts';
import type { Stores } from '../../src/store/stores.ts';
import { createLog } from '../../src/telemetry/log.ts';

/** A part of tokenlat.yaml as an object; keys as in the file. */
export type ConfigPart = Readonly<Record<string, unknown>>;

export interface GatewayOptions {
  /** Merged over the base at the top level (where breakers are off): backends, models, routes, tenants, limits, … */
  readonly config: ConfigPart;
  readonly workers?: number;
  /** Extra files beside the configuration, by name. */
  readonly files?: Readonly<Record<string, string>>;
}

/** The whole gateway on real Envoy and Redis, for tests. */
export interface TestGateway {
  /** Ends in `/v1`. */
  readonly url: string;
  readonly origin: string;
  readonly ops: string;
  readonly dir: string;
  readonly configPath: string;
  readonly stores: Pick<Stores, 'traces' | 'ledger'>;
  /** A token of the test issuer; claims over a default user of tenant `acme` who may use every model. */
  token(claims?: Record<string, unknown>): Promise<string>;
  /** Changes the configuration while it runs. */
  reconfigure(config: ConfigPart): void;
  /** Ledger events of a tenant, once there are at least `count`. */
  ledger(tenant: string, count: number): Promise<readonly LedgerEvent[]>;
  /** Ledger events of one request, once there is one. */
  eventsOf(tenant: string, requestId: string): Promise<readonly LedgerEvent[]>;
  trace(requestId: string): Promise<RequestTrace>;
  envoyStats(filter: string): Promise<Readonly<Record<string, number>>>;
  envoyLog(): string;
  /** Our own log, as parsed lines. */
  log(): readonly Record<string, unknown>[];
  /** Stops, and asserts what must hold after any run. */
  stop(): Promise<void>;
}

export const TEST_SECRET = 'a-shared-secret-of-the-tests-0123456789abcdef';
export const TEST_ISSUER = 'https://issuer.test';

/** Starts Redis, the server and Envoy on free ports. */
export async function startGateway({ config, workers = 1, files = {} }: GatewayOptions): Promise<TestGateway> {
  const dir = mkdtempSync(join(tmpdir(), 'tl-'));
  const [listen = 0, admin = 0, ops = 0] = await quietPorts(3);
  mkdirSync(join(dir, 's'));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, name), content, { mode: 0o600 });
  const configPath = join(dir, 'tokenlat.yaml');
  const write = (part: ConfigPart): void => {
    const { server = {}, listen: listenPart = {}, auth = {}, ...rest } = part as Record<string, ConfigPart>;
    writeFileSync(
      configPath,
      stringify({
        version: 1,
        listen: { address: '127.0.0.1', port: listen, admin_port: admin, ...listenPart },
        server: { workers, socket_dir: join(dir, 's'), ops: { address: '127.0.0.1', port: ops }, ...server },
        auth: { issuers: [{ issuer: TEST_ISSUER, algorithms: ['HS256'], secret: TEST_SECRET }], ...auth },
        // Backends of tests misbehave on purpose, again and again.
        breakers: { enabled: false },
        ...rest,
      }),
    );
  };
  write(config);
  const logFile = join(dir, 'tokenlat.log');
  const fatal: string[] = [];
  const running = await up({
    path: configPath,
    stateDir: dir,
    log: createLog({ level: 'debug', destination: logFile }),
    logFile,
    onFatal: (reason) => fatal.push(reason),
  });
  const stores = await openReading(configPath, dir);
  const envoyLog = (): string => readFileSync(join(dir, 'envoy', 'envoy.log'), 'utf8');
  const envoyStats = async (filter: string): Promise<Record<string, number>> => {
    const response = await fetch(`http://127.0.0.1:${admin}/stats?filter=${encodeURIComponent(filter)}`);
    const lines = (await response.text()).split('\n').filter((line) => /: \d+$/.test(line));
    return Object.fromEntries(
      lines.map((line) => [line.slice(0, line.lastIndexOf(':')), Number(line.slice(line.lastIndexOf(':') + 1))]),
    );
  };
  return {
    url: running.url,
    origin: running.url.replace(/\/v1$/, ''),
    ops: `http://127.0.0.1:${ops}`,
    dir,
    configPath,
    stores,
    token: (claims = {}) => signToken(claims),
    reconfigure: write,
    async ledger(tenant, count) {
      let events: readonly LedgerEvent[] = [];
      await waitUntil(
        async () => {
          events = (await stores.ledger.read(tenant, null, 10_000)).map(({ event }) => event);
          return events.length >= count;
        },
        { timeoutMs: 15_000 },
      );
      return events;
    },
    async eventsOf(tenant, requestId) {
      let events: readonly LedgerEvent[] = [];
      await waitUntil(
        async () => {
          const all = await stores.ledger.read(tenant, null, 10_000);
          events = all.map(({ event }) => event).filter((event) => event.requestId === requestId);
          return events.length > 0;
        },
        { timeoutMs: 15_000 },
      );
      return events;
    },
    async trace(requestId) {
      let found: RequestTrace | undefined;
      await waitUntil(async () => (([found] = await stores.traces.get(requestId)), found !== undefined), {
        timeoutMs: 15_000,
      });
      assert.ok(found, `no trace of ${requestId}`);
      return found;
    },
    envoyStats,
    envoyLog,
    log: () =>
      readFileSync(logFile, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    async stop() {
      try {
        await assertSound({ stores, envoyStats, envoyLog, fatal });
      } finally {
        await stores.close();
        await running.stop();
        if (process.env['TOKENLAT_KEEP'] === undefined) rmSync(dir, { recursive: true, force: true });
      }
    },
  };
}

/** Counters of Envoy that say that it and we misunderstood each other. */
const MUST_BE_ZERO =
  /rejected_header_mutations|spurious_msgs_received|clear_route_cache_ignored|retry_or_shadow_abandoned|message_timeouts/;

/** Envoy counts it for our own stream whenever a body is larger than what it would buffer to open the stream elsewhere. */
const OWN_STREAM = /^cluster\.tokenlat-ext-proc\.retry_or_shadow_abandoned$/;

async function assertSound({
  stores,
  envoyStats,
  envoyLog,
  fatal,
}: Pick<TestGateway, 'stores' | 'envoyStats' | 'envoyLog'> & { fatal: readonly string[] }): Promise<void> {
  await waitUntil(async () => (await stores.ledger.open()) === 0, { timeoutMs: 15_000 });
  assert.equal(await stores.ledger.open(), 0, 'open reservations are left');
  assert.deepEqual(fatal, [], 'a part died');
  const stats = await envoyStats(MUST_BE_ZERO.source);
  assert.deepEqual(
    Object.entries(stats).filter(([name, value]) => value !== 0 && !OWN_STREAM.test(name)),
    [],
    'Envoy counted a misunderstanding',
  );
  assert.doesNotMatch(envoyLog(), /envoy bug|assert failure|\[critical\]/i);
}

/** Signs a token of the test issuer. */
export function signToken(claims: Record<string, unknown> = {}): Promise<string> {
  return new SignJWT({ sub: 'user-1', tenant: 'acme', models: ['*'], ...claims })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuer(TEST_ISSUER)
    .setIssuedAt()
    .setExpirationTime('10m')
    .sign(Buffer.from(TEST_SECRET));
}
