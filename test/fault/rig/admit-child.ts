/**
 * A process with the real admission (`stations/schedule`) on a real Redis: asked by `AdmitOrder` over its channel, it answers
 * with `AdmitAnswer`. `node admit-child.ts REDIS_URL`.
 */
import type { LineRecord, TenantRecord } from '../../../src/core/directory.ts';
import { GatewayError } from '../../../src/core/error.ts';
import type { RequestContext } from '../../../src/core/context.ts';
import { systemClock } from '../../../src/core/ports/clock.ts';
import type { DirectoryView } from '../../../src/core/ports/directory-view.ts';
import { context, ending } from '../../../src/stations/schedule/schedule-bench.ts';
import { createSchedule } from '../../../src/stations/schedule/station.ts';
import { createRedisStores } from '../../../src/store/redis/redis-stores.ts';
import { silentLog, silentMetrics } from '../../../src/telemetry/silent.ts';
import { ledgerEvent } from '../../support/ledger-event.ts';
import type { AdmitAnswer, AdmitOrder } from './admit-messages.ts';
import { USED } from './admit-messages.ts';
import { type Level, type LevelLimit, NAMES, ruleOf } from './limit-levels.ts';

/** Longer than any round: a lease that ran out would rightly make room. */
const LEASE_MS = 60_000;

const [url = ''] = process.argv.slice(2);
const stores = createRedisStores({
  redis: { url, sentinel: null, cluster: null, commandTimeoutMs: 10_000, keyPrefix: 'tl:' },
  ledger: { leaseMs: LEASE_MS, keepMs: 600_000, maxEvents: 100_000, zone: 'UTC' },
  log: silentLog,
  metrics: silentMetrics,
});
let limits: readonly LevelLimit[] = [];
let open: RequestContext[] = [];
const rules = (...levels: readonly Level[]) =>
  limits.filter(({ level }) => levels.includes(level)).map((limit) => ruleOf(limit));
const directory: DirectoryView = {
  tenant: () => ({ limits: rules('tenant', 'model'), subjectLimits: rules('subject') }) as unknown as TenantRecord,
  line: () => ({ limits: rules('line') }) as unknown as LineRecord,
  budgets: () => [],
};
const { station } = createSchedule({
  store: stores.quota,
  workers: 1,
  workerIndex: 0,
  metrics: silentMetrics,
  log: silentLog,
  clock: systemClock,
  directory,
});

async function admit({ tenant, count, limits: asked }: AdmitOrder & { kind: 'admit' }): Promise<AdmitAnswer> {
  limits = asked;
  const principal = { keyId: NAMES.key, limitRules: rules('key') };
  const odd: string[] = [];
  let denied = 0;
  const one = async (): Promise<void> => {
    const made = context({ tenant, principal, request: { maxOutputTokens: 20 } });
    const tenants = new Map([[tenant, { limits: [] }]]) as unknown as typeof made.config.tenants;
    const ledger = { ...made.config.ledger, leaseMs: LEASE_MS };
    const ctx = { ...made, config: { ...made.config, tenants, ledger } };
    try {
      const step = await station.run?.(ctx);
      if (step !== undefined && 'adds' in step && step.adds.admission.kind !== 'held') odd.push('not booked');
      open.push(ctx);
    } catch (reason) {
      const error = GatewayError.from(reason);
      if (error.status === 429) denied += 1;
      else odd.push(`${error.code}: ${error.message}`);
      await station.finish?.(ctx, ending({ kind: 'failed', error, events: [], attempts: [] }));
    }
  };
  await Promise.all(Array.from({ length: count }, one));
  return { held: open.length, denied, odd };
}

async function finish(): Promise<AdmitAnswer> {
  const ended = open;
  open = [];
  await Promise.all(
    ended.map(async (ctx) => {
      const { operation, principal } = ctx;
      const events = [ledgerEvent({ operation, tenant: principal.tenant, cost: USED.spend })];
      await station.finish?.(ctx, ending({ events }));
    }),
  );
  return { held: ended.length, denied: 0, odd: [] };
}

process.on('message', (order: AdmitOrder) => {
  void (order.kind === 'admit' ? admit(order) : finish()).then((answer) => process.send?.(answer));
});
process.on('disconnect', () => process.exit());
if (!(await stores.ready(10_000))) throw new Error('Redis does not answer');
process.send?.('ready');
