import type { Filter, Redis, Server, Snapshot } from '../../core/snapshot.ts';
import type { TextModelFile } from '../../lib/text-classes/model-file.ts';
import { deepFreeze } from '../freeze.ts';
import type { FileReader } from '../references.ts';
import { DEFAULT_SOCKET_DIR } from '../worker-address.ts';
import type { ConfigDocument } from '../schema/document.ts';
import { compileAdmin } from './compile-admin.ts';
import { compileAudit } from './compile-audit.ts';
import { compileClassifiers } from './compile-classifiers.ts';
import { compileAuth } from './compile-auth.ts';
import { compileBackends } from './compile-backends.ts';
import { compileBreakers } from './compile-breakers.ts';
import { compileBudgets } from './compile-budgets.ts';
import { compileJobs } from './compile-jobs.ts';
import { compileLedger } from './compile-ledger.ts';
import { compileAliases, compileModels, compileRoutes } from './compile-models.ts';
import { compileSurge } from './compile-surge.ts';
import { compileTenant, compileTenants } from './compile-tenants.ts';
import { compileZones } from './compile-zones.ts';

const DEFAULT_MAX_REQUEST_MS = 900_000;

/** Makes a snapshot from a document that passed every check. */
export function compileSnapshot(
  document: ConfigDocument,
  files: FileReader,
  read: { readonly terms: readonly string[]; readonly textModels: ReadonlyMap<string, TextModelFile> },
): Omit<Snapshot, 'generation' | 'digest'> {
  const { listen, limits, timeouts, retry, telemetry } = document;
  const backends = compileBackends(document);
  const classifiers = compileClassifiers(document, read.textModels);
  return deepFreeze({
    listen: {
      address: listen.address,
      port: listen.port,
      tls:
        listen.tls === undefined ? null : { cert: files.resolve(listen.tls.cert), key: files.resolve(listen.tls.key) },
      adminPort: listen.admin_port,
    },
    server: compileServer(document, files),
    redis: compileRedis(document),
    auth: compileAuth(document, files),
    tenants: compileTenants(document),
    tenantDefaults: compileTenant(document, '*', document.tenant_defaults),
    backends,
    models: compileModels(document, backends),
    aliases: compileAliases(document),
    classifiers,
    routes: compileRoutes(document, classifiers),
    limits: {
      bodyBytes: limits.body,
      responseBytes: limits.response,
      eventBytes: limits.event,
      headerBytes: limits.headers,
      jsonDepth: limits.json_depth,
      jsonKeys: limits.json_keys,
    },
    timeouts: {
      requestMs: timeouts.request,
      maxRequestMs: timeouts.max_request ?? Math.max(timeouts.request, DEFAULT_MAX_REQUEST_MS),
      idleMs: timeouts.idle,
      connectMs: timeouts.connect,
      deadHostMs: timeouts.dead_host,
    },
    retry: {
      retries: retry.retries,
      baseMs: retry.base,
      maxMs: retry.max,
      retryAfterCapMs: retry.retry_after_cap,
      replay: retry.replay,
    },
    breakers: compileBreakers(document),
    priorities: {
      batchTiers: new Set(document.priorities.batch_tiers),
      batchShare: document.priorities.batch_share,
    },
    surge: compileSurge(document),
    ...compileZones(document),
    ...compileJobs(document),
    filter: compileFilter(document, read.terms),
    responses: { model: document.responses.model },
    ledger: compileLedger(document, files),
    budgets: compileBudgets(document),
    telemetry: { logLevel: telemetry.log_level, labelValues: telemetry.label_values },
    admin: compileAdmin(document, files),
    audit: compileAudit(document, files),
  });
}

function compileServer({ server }: ConfigDocument, files: FileReader): Server {
  const { mtls } = server.tcp;
  return {
    workers: server.workers,
    transport:
      server.transport === 'unix'
        ? { kind: 'unix', socketDir: files.resolve(server.socket_dir ?? DEFAULT_SOCKET_DIR) }
        : {
            kind: 'tcp',
            address: server.tcp.address,
            port: server.tcp.port,
            mtls:
              mtls === undefined
                ? null
                : { cert: files.resolve(mtls.cert), key: files.resolve(mtls.key), ca: files.resolve(mtls.ca) },
          },
    grpc: server.grpc,
    ops: { ...server.ops },
    drainMs: server.drain,
    messageTimeoutMs: server.message_timeout,
  };
}

function compileRedis({ redis }: ConfigDocument): Redis | null {
  if (redis === undefined) return null;
  return {
    url: redis.url,
    sentinel: redis.sentinel ?? null,
    cluster: redis.cluster ?? null,
    commandTimeoutMs: redis.command_timeout,
    keyPrefix: redis.key_prefix,
  };
}

function compileFilter({ filter }: ConfigDocument, terms: readonly string[]): Filter {
  return { enabled: filter.enabled ?? terms.length > 0, terms };
}
