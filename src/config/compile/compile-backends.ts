import type { Backend } from '../../core/snapshot.ts';
import { endpointOf } from '../endpoint-url.ts';
import type { ConfigDocument } from '../schema/document.ts';
import { compileProbes } from './compile-probes.ts';

export function compileBackends(document: ConfigDocument): Map<string, Backend> {
  return new Map(document.backends.map((entry) => [entry.name, compileBackend(entry)]));
}

function compileBackend(entry: ConfigDocument['backends'][number]): Backend {
  const endpoints = entry.endpoints.map(({ url, ...rest }) => {
    const parsed = endpointOf(url);
    if ('error' in parsed) throw new Error(`unchecked endpoint: ${parsed.error}`);
    return { ...parsed, ...rest };
  });
  const health = entry.health?.http;
  const probes = compileProbes(entry);
  return {
    name: entry.name,
    dialect: entry.dialect,
    zone: entry.zone,
    endpoints: endpoints.map(({ host, port, weight, zone, failure_domain: failureDomain }) => ({
      host,
      port,
      weight,
      ...(zone === undefined ? {} : { zone }),
      ...(failureDomain === undefined ? {} : { failureDomain }),
    })),
    basePath: endpoints[0]?.basePath ?? '',
    tls: endpoints[0]?.tls ?? false,
    http2: entry.http2,
    health:
      health === undefined
        ? null
        : {
            path: health.path,
            intervalMs: health.interval,
            timeoutMs: health.timeout,
            unhealthyAfter: health.unhealthy_after,
            healthyAfter: health.healthy_after,
          },
    credentials: entry.credentials.map(({ header, value }) => [header, value] as const),
    headers: Object.entries(entry.headers),
    options: { ...entry.options },
    ...(probes === null ? {} : { probes }),
    loads: { most: entry.loads.most ?? null, keepMs: entry.loads.keep },
    ...(entry.pool === undefined ? {} : { pool: { slowStartMs: entry.pool.slow_start } }),
  };
}
