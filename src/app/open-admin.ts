import { createAdminServer, type AdminServer } from '../admin/admin-server.ts';
import { HeaderList, type HeaderPair } from '../core/http.ts';
import type { Log } from '../core/ports/telemetry.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { limitLines } from '../stations/schedule/limit-lines.ts';
import { startOfDay } from '../lib/calendar/calendar-period.ts';
import type { Stores } from '../store/stores.ts';
import { configView } from './config-view.ts';
import type { Operators } from './follow-operators.ts';
import type { Gateway } from './gateway.ts';
import type { OpenedAudit } from './open-audit.ts';
import { auditPages } from './audit-pages.ts';
import { routingView } from './routing-view.ts';

export interface OpenAdminOptions {
  readonly config: () => Snapshot;
  readonly gateway: Pick<Gateway, 'identify'>;
  readonly stores: Stores;
  readonly operators: Pick<Operators, 'directory'>;
  readonly audit: OpenedAudit;
  readonly log: Log;
}

/** Starts the admin API where the configuration has one. Rejects when its address cannot be had. */
export async function openAdmin(options: OpenAdminOptions): Promise<AdminServer | null> {
  const { config, gateway, stores, operators, audit, log } = options;
  const { admin: listen } = config();
  if (listen === null) return null;
  const server = createAdminServer({
    listen,
    access: () => config().admin ?? listen,
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
    routing: () => routingView(config()),
    limitLines: async ({ tenant, subject, model }) => {
      const { tenants, tenantDefaults } = config();
      const { tier, businessLine } = tenants.get(tenant) ?? tenantDefaults;
      return limitLines({
        config: config(),
        directory: operators.directory.view,
        models: model === null ? [] : [model, config().aliases.get(model) ?? model],
        principal: {
          subject: subject ?? '',
          tenant,
          tier,
          businessLine,
          scopes: new Set(),
          models: [],
          credential: '',
          limits: [],
          keyId: null,
          tags: {},
          claims: {},
        },
      });
    },
    channels: () => [...config().budgets.channels.keys()],
    dayStart: (date) => startOfDay(date, config().ledger.zone),
    log,
  });
  await server.start();
  return server;
}
