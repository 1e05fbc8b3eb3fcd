import { isLoopback } from '../../lib/address/address.ts';
import type { Snapshot } from '../../core/snapshot.ts';
import { checkBuffers, checkClusters } from './check-clusters.ts';
import { checkFilters } from './check-filters.ts';
import { checkRoutes } from './check-routes.ts';
import { checkStats } from './check-stats.ts';
import { readConfigDump, treeOf } from './config-dump.ts';
import type { EnvoyConfig } from './config-dump.ts';
import type { Finding, Level, Report } from './finding.ts';

/** The oldest Envoy that has all that the rendered configuration uses. */
export const MIN_ENVOY = '1.40.0';

const ORDER: Readonly<Record<Level, number>> = { error: 0, warning: 1, info: 2 };

/**
 * Compares a running Envoy with what a snapshot needs. `configDump` and `serverInfo` are the parsed answers of `/config_dump`
 * and `/server_info` of Envoy's admin listener, `stats` is the text of `/stats`. Worst findings first; none means all is well.
 */
export function diagnose(input: {
  readonly configDump: unknown;
  readonly stats: string;
  readonly serverInfo: unknown;
  readonly snapshot: Snapshot;
}): readonly Finding[] {
  const findings: Finding[] = [];
  const report: Report = (level, code, message, fix) => findings.push({ level, code, message, fix });
  const { snapshot } = input;
  const config = readConfigDump(input.configDump);
  checkVersion(input.serverInfo, report);
  checkAdmin(config, report);
  checkFilters(config, snapshot, report);
  checkRoutes(config, [...snapshot.backends.keys()], report);
  checkClusters(config, snapshot, report);
  checkBuffers(config, snapshot, report);
  checkStats(input.stats, report);
  return findings.toSorted((a, b) => ORDER[a.level] - ORDER[b.level]);
}

function checkVersion(serverInfo: unknown, report: Report): void {
  const version = /\/(\d+)\.(\d+)\.(\d+)/.exec(treeOf(serverInfo).get('version').text());
  const found = version?.slice(1, 4).map(Number) ?? [];
  const wanted = MIN_ENVOY.split('.').map(Number);
  const difference = wanted.map((number, index) => (found[index] ?? 0) - number).find((delta) => delta !== 0) ?? 0;
  if (version === null)
    report('warning', 'envoy_version', 'The version of Envoy is not known.', `Use Envoy ${MIN_ENVOY} or newer.`);
  else if (difference < 0)
    report('error', 'envoy_version', `Envoy ${found.join('.')} is too old.`, `Use Envoy ${MIN_ENVOY} or newer.`);
}

function checkAdmin(config: EnvoyConfig, report: Report): void {
  const address = config.bootstrap.get('admin').get('address').get('socket_address').get('address').text();
  if (address !== '' && !isLoopback(address))
    report(
      'error',
      'admin_open',
      `Envoy's admin listener is on ${address}: whoever reaches it can stop Envoy and read its configuration.`,
      'Bind it to 127.0.0.1.',
    );
}
