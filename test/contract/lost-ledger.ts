import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { load } from '../../src/app/load.ts';
import { openAudit } from '../../src/app/open-audit.ts';
import { runCommand } from '../../src/cli/cli-kit.test.ts';
import { costCommand } from '../../src/cli/commands/cost.ts';
import type { Arrived, RequestContext } from '../../src/core/context.ts';
import type { Ending } from '../../src/core/ending.ts';
import type { LimitLine } from '../../src/core/limit.ts';
import { microUnits } from '../../src/core/money.ts';
import { takenBy } from '../../src/core/settlement.ts';
import { bookingFacts } from '../../src/stations/wrap/booking-facts.ts';
import type { Stores } from '../../src/store/stores.ts';
import { silentLog, silentMetrics } from '../../src/telemetry/silent.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { event, operation } from './quota-harness.ts';
import { openStores } from './redis-harness.ts';

const MOST = Number.MAX_SAFE_INTEGER;
const AT_ONCE = 200;
const TENANTS = ['acme', 'globex', 'a "b"\u00fc'];
const LINES: readonly LimitLine[] = [
  { scope: 'tenant', unit: 'tokens', window: { kind: 'calendar', unit: 'day' }, limit: MOST },
  { scope: 'tenant', unit: 'spend', window: { kind: 'calendar', unit: 'month', zone: 'Europe/Berlin' }, limit: MOST },
  { scope: 'line:l1', unit: 'requests', window: { kind: 'sliding', seconds: 86_400 }, limit: MOST },
  { scope: 'tenant', unit: 'requests', window: { kind: 'concurrent' }, limit: MOST },
];

/** Requests that are booked and recorded without Envoy, in a Redis and an audit log of their own. */
export interface LedgerWorld {
  readonly server: RedisServer;
  readonly raw: Redis;
  /** Books and records so many; the audit is on disk afterwards. */
  readonly serve: (requests: number) => Promise<void>;
  /** Everything that must be the same again: sums by tenant, model, line and day, the ledger's own, and the counters. */
  readonly books: () => Promise<Readonly<Record<string, unknown>>>;
  /** `tokenlat cost …` with the world's configuration. */
  readonly cost: (...words: readonly string[]) => ReturnType<typeof runCommand>;
  readonly audit: string;
  readonly close: () => Promise<void>;
}

export async function ledgerWorld({
  maxEvents = 1_000_000,
}: { readonly maxEvents?: number } = {}): Promise<LedgerWorld> {
  const dir = mkdtempSync(join(tmpdir(), 'tokenlat-lost-'));
  const server = await startRedis();
  const config = join(dir, 'tokenlat.yaml');
  const log = join(dir, 'audit');
  mkdirSync(log);
  writeFileSync(
    config,
    `version: 1
redis: { url: "${server.url}", command_timeout: 4s }
auth: { api_keys: [{ name: first, key: an-example-key-of-some-length, tenant: demo }] }
backends: [{ name: b, endpoints: [{ url: "http://127.0.0.1:8000/v1" }] }]
models: [{ name: m, deployments: [{ backend: b }] }]
ledger: { max_events: ${maxEvents} }
audit: { dir: audit, key_file: a.pem, checkpoint: { dir: checkpoints } }
`,
  );
  const { snapshot } = load(config);
  const raw = new Redis(server.url);
  const open = (): Promise<Stores> => openStores(server.url, { ledger: { maxEvents }, commandTimeoutMs: 10_000 });
  return {
    server,
    raw,
    audit: log,
    serve: async (requests) => {
      const stores = await open();
      const audit = openAudit(snapshot, { worker: 0, log: silentLog, metrics: silentMetrics, redis: null });
      for (let at = 0; at < requests; at += AT_ONCE) {
        const count = Math.min(AT_ONCE, requests - at);
        await Promise.all(Array.from({ length: count }, (_, i) => serveOne(stores, audit, at + i)));
        await audit.flush(10_000);
      }
      await audit.close();
      await stores.close();
    },
    books: async () => {
      const stores = await open();
      const read = await readBooks(stores);
      await stores.close();
      return read;
    },
    cost: (...words) => runCommand(costCommand, [...words, '--config', config], { time: () => Date.now() }),
    close: async () => {
      raw.disconnect();
      await server.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function serveOne(stores: Stores, audit: ReturnType<typeof openAudit>, at: number): Promise<void> {
  const id = operation();
  const tenant = TENANTS[at % TENANTS.length] ?? '';
  const cost = microUnits(1 + ((at * 7919) % 100_003));
  const fields = { tenant, model: `m${at % 4}`, businessLine: `l${at % 2}`, cost, time: Date.now() - (at % 3) };
  const events = [event(id, 10 + (at % 90), fields)];
  // Each tenth had a try that was thrown away.
  if (at % 10 === 0) events.unshift(event(id, 5, { ...fields, chargedTo: 'gateway', attempt: 1, status: 'error' }));
  const ending = {
    kind: 'complete',
    usage: { prompt: 10, completion: at % 90, cached: 0, reasoning: 0, source: 'upstream' },
    attempts: [{}],
    events,
  } as unknown as Ending;
  const lines = LINES.filter(({ scope }) => scope !== 'line:l1' || at % 2 === 1);
  const amounts = { requests: 1, tokens: 500, spend: 1_000_000 };
  const admitted = await stores.quota.admit({ operation: id, tenant, lines, amounts, leaseMs: 30_000, onExpiry: null });
  await stores.quota.settle({ operation: id, tenant, actual: takenBy(ending), events });
  const admission = { kind: 'held', limits: admitted.limits, reservedTokens: 500 };
  const ctx = { config: { models: new Map() }, admission } as unknown as Partial<RequestContext> & Arrived;
  const facts = { request_id: `shown-${id}`, tenant, cost: '1', booking: bookingFacts(ctx, ending) };
  audit.append({ kind: 'request', time: events[0]?.time ?? 0, facts });
}

async function readBooks(stores: Stores): Promise<Readonly<Record<string, unknown>>> {
  const day = 86_400_000;
  const from = Math.floor(Date.now() / day) * day - day;
  const by = ['tenant', 'model', 'business_line', 'backend', 'charged_to'] as const;
  const spend = await stores.spend.spend({ tenant: null, from, to: from + 3 * day, unit: 'day', by });
  const ledger: Record<string, bigint> = {};
  const counters: Record<string, readonly number[]> = {};
  let entries = 0;
  for (const tenant of TENANTS) {
    for (let after: string | null = null; ;) {
      const page: Awaited<ReturnType<Stores['ledger']['read']>> = await stores.ledger.read(tenant, after, 5000);
      for (const { event: booked } of page) {
        const name = [tenant, booked.model, booked.businessLine, booked.chargedTo].join(' ');
        ledger[name] = (ledger[name] ?? 0n) + BigInt(booked.cost);
      }
      entries += page.length;
      const last = page.at(-1);
      if (last === undefined) break;
      after = last.id;
    }
    counters[tenant] = (await stores.quota.peek(tenant, LINES)).map(({ remaining }) => MOST - remaining);
  }
  const differences = await Promise.all(TENANTS.map(async (tenant) => (await stores.spend.verify(tenant)).length));
  return { spend, entries, counters, differences, ledger: new Map(Object.entries(ledger)) };
}
