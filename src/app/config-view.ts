import type { Json } from '../core/json.ts';
import type { Snapshot } from '../core/snapshot.ts';

/**
 * The configuration in force, for people. Names what is shown instead of what is hidden: a credential added to the
 * configuration later stays out. URLs lose user, password and query.
 */
export function configView(config: Snapshot): Json {
  const { listen, server, redis, auth, tenants, tenantDefaults, backends, models, aliases, classifiers, routes } =
    config;
  return {
    generation: config.generation,
    digest: config.digest,
    listen: { address: listen.address, port: listen.port, tls: listen.tls !== null, admin_port: listen.adminPort },
    server: {
      workers: server.workers,
      transport: server.transport.kind,
      grpc: server.grpc,
      ops: server.ops,
      drain_ms: server.drainMs,
    },
    redis: redis === null ? null : { url: place(redis.url), key_prefix: redis.keyPrefix },
    auth: {
      issuers: auth.issuers.map(({ issuer, audience, algorithms, keys }) => ({
        issuer,
        audience,
        algorithms,
        keys: keys.kind,
      })),
      api_keys: auth.apiKeys.map(({ name, tenant, subject, models: patterns }) => ({
        name,
        tenant,
        subject,
        models: patterns,
      })),
    },
    tenants: [...tenants.values()].map(tenantView),
    tenant_defaults: tenantView(tenantDefaults),
    backends: [...backends.values()].map(({ name, dialect, endpoints, basePath, tls, http2 }) => ({
      name,
      dialect,
      endpoints: endpoints.map(({ host, port, weight }) => ({ host, port, weight })),
      base_path: basePath,
      tls,
      http2,
    })),
    models: [...models.values()].map(({ name, stage, fallback, deployments }) => ({
      name,
      stage,
      fallback,
      deployments: deployments.map(({ id, weight, costTier, profile }) => ({
        id,
        weight,
        cost_tier: costTier,
        context: profile.context,
      })),
    })),
    aliases: Object.fromEntries(aliases),
    classifiers: [...classifiers.values()].map(({ name, trustsHeader, rules, text, fallback, classes }) => ({
      name,
      header: trustsHeader,
      rules: rules.length,
      model: text !== null,
      default: fallback,
      classes: [...classes],
    })),
    routes: routes.map(({ id, models: names, match, fallback, onStoreError, protect, classifier }) => ({
      id,
      models: names,
      match,
      fallback,
      on_store_error: onStoreError,
      protect,
      classify: classifier?.name ?? null,
    })),
    limits: { ...config.limits },
    timeouts: { ...config.timeouts },
    retry: { ...config.retry },
    filter: { enabled: config.filter.enabled, terms: config.filter.terms.length },
    ledger: ledgerView(config.ledger),
    budgets: {
      alerts_at: config.budgets.alertsAt,
      channels: [...config.budgets.channels.values()].map(({ name, url }) => ({ name, url: place(url) })),
    },
    audit: config.audit === null ? null : { on_error: config.audit.onError, prompts: config.audit.prompts },
  };
}

function ledgerView({ sink, ...ledger }: Snapshot['ledger']): Json {
  if (sink === null) return { ...ledger, sink };
  const { kind, url, user, database, table, engine, ttlDays, batch, intervalMs, keepUnsent } = sink;
  return {
    ...ledger,
    sink: { kind, url: place(url), user, database, table, engine, ttlDays, batch, intervalMs, keepUnsent },
  };
}

function tenantView({ name, tier, businessLine, limits }: Snapshot['tenantDefaults']): Json {
  return {
    name,
    tier,
    business_line: businessLine,
    limits: limits.map(({ unit, window, limit, per, model }) => ({
      unit,
      window: { ...window },
      limit,
      per,
      model: model ?? null,
    })),
  };
}

/** A webhook's path is often its secret. */
function place(text: string): string {
  const { protocol, host } = new URL(text);
  return `${protocol}//${host}`;
}
