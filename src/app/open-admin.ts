import { createAdminServer, type AdminServer } from '../admin/admin-server.ts';
import { createReadBudgets } from '../control/budgets/read-budgets.ts';
import { createReadLive } from '../control/live/read-live.ts';
import { HeaderList, type HeaderPair } from '../core/http.ts';
import { systemClock } from '../core/ports/clock.ts';
import type { Log } from '../core/ports/telemetry.ts';
import { startOfDay } from '../lib/calendar/calendar-period.ts';
import type { Stores } from '../store/stores.ts';
import { configuredDeployments } from './configured-deployments.ts';
import { configView } from './config-view.ts';
import type { Operators } from './follow-operators.ts';
import type { Gateway } from './gateway.ts';
import { createReadSink } from './read-sink.ts';
import type { LiveConfig } from './live-config.ts';
import { rolloutDesk } from './rollout-desk.ts';
import type { Steered } from './steer.ts';
import { limitLevels } from './limit-levels.ts';
import type { OpenedAudit } from './open-audit.ts';
import { auditPages } from './audit-pages.ts';
import { type FoundAt, routingView } from './routing-view.ts';
import { serverStatus } from './server-status.ts';

export interface OpenAdminOptions {
  readonly config: LiveConfig;
  readonly steered: Pick<Steered, 'rollouts'>;
  readonly gateway: Pick<Gateway, 'identify' | 'explain'>;
  readonly found: FoundAt;
  readonly stores: Stores;
  readonly operators: Pick<Operators, 'directory' | 'stages'>;
  readonly audit: OpenedAudit;
  readonly log: Log;
}

/** Starts the admin API where the configuration has one. Rejects when its address cannot be had. */
export async function openAdmin(options: OpenAdminOptions): Promise<AdminServer | null> {
  const { gateway, found, stores, operators, audit, log } = options;
  const config = options.config.current;
  const { admin: listen } = config();
  if (listen === null) return null;
  const sink = createReadSink({ stores, clock: systemClock });
  const live = createReadLive({ store: stores.live, clock: systemClock });
  const server = createAdminServer({
    listen,
    access: () => config().admin,
    identify: async (headers) => {
      const pairs = Object.entries(headers).flatMap(([name, value]) =>
        (Array.isArray(value) ? value : [value ?? '']).map((one): HeaderPair => [name, one]),
      );
      return await gateway.identify(new HeaderList(pairs), config());
    },
    directory: stores.directory,
    quota: stores.quota,
    spend: stores.spend,
    traces: stores.traces,
    audit: { log: audit, reader: auditPages(config().audit, audit) },
    idempotency: stores.idempotency,
    config: () => configView(config()),
    routing: async () => routingView(config(), await live(), found, operators.stages),
    rollouts: rolloutDesk(options),
    deployments: () => configuredDeployments(config()),
    explain: gateway.explain,
    status: async () => serverStatus(config(), audit, await sink(config().ledger.sink)),
    live,
    jobs: async () => (config().jobs === undefined ? null : await stores.jobs.counts().catch(() => null)),
    budgetStandings: createReadBudgets({
      quota: stores.quota,
      state: stores.budgets,
      config,
      clock: systemClock,
    }),
    limitLines: (who) =>
      limitLevels({ config: config(), directory: operators.directory.view, store: stores.directory, ...who }),
    channels: () => [...config().budgets.channels.keys()],
    dayStart: (date) => startOfDay(date, config().ledger.zone),
    log,
  });
  await server.start();
  return server;
}
