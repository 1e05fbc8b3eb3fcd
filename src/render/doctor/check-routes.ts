import { ATTEMPT_FILTER, LENGTH_FILTER, NAMESPACES, NO_PLAN_CLUSTER, REQUEST_FILTER } from '../names.ts';
import type { EnvoyConfig, Tree } from './config-dump.ts';
import type { Report } from './finding.ts';

const RENDER = 'Take the route as `tokenlat envoy render` writes it.';

/** Do routes of ours turn the filter on, and does no route around it lead to our backends? */
export function checkRoutes(config: EnvoyConfig, backends: readonly string[], report: Report): void {
  const routes = config.virtualHosts.flatMap((host) =>
    host
      .get('routes')
      .items()
      .map((route) => ({ host, route })),
  );
  const ours = routes.filter(({ route }) => isPlanned(route));
  if (ours.length === 0) report('error', 'route_missing', 'No route follows the plan of our server.', RENDER);
  for (const { host, route } of ours) checkPlanned(host, route, report);
  if (ours.length > 0 && !ours.some(({ route }) => watches(route)))
    report(
      'error',
      'watch_routes',
      'No route lets a try see its answer: a stream that begins with an error does not move on to the next candidate.',
      RENDER,
    );
  const direct = ours.map(({ route }) => route).filter(isDirect);
  if (ours.length > 0 && direct.length === 0)
    report(
      'warning',
      'direct_route',
      'No route lets a first try go without a stream of its own: each request costs Envoy and our server a third more.',
      RENDER,
    );
  if (!direct.every(isWhole))
    report(
      'error',
      'direct_route_host',
      "A route lets first tries go without a stream, but leaves the client's host or our headers in their heads.",
      RENDER,
    );
  for (const { host, route } of routes) {
    const cluster = route.get('route').get('cluster').text();
    if (backends.includes(cluster))
      report(
        'error',
        'route_around',
        `A route of virtual host ${host.get('name').text()} leads to ${cluster} past our checks.`,
        'Remove it, or give that traffic a cluster of its own.',
      );
  }
}

function specifier(route: Tree): Tree {
  return route.get('route').get('inline_cluster_specifier_plugin').get('extension').get('typed_config');
}

function isPlanned(route: Tree): boolean {
  return specifier(route).get('override_metadata_namespace').text() === NAMESPACES.route;
}

function watches(route: Tree): boolean {
  const override = route.get('typed_per_filter_config').get(ATTEMPT_FILTER).get('overrides').get('processing_mode');
  return (
    override.get('response_header_mode').text() === 'SEND' && override.get('response_body_mode').text() === 'STREAMED'
  );
}

/** Does a try pass our filter by under some condition? */
function isDirect(route: Tree): boolean {
  const type = route.get('typed_per_filter_config').get(ATTEMPT_FILTER).get('@type').text();
  return type.endsWith('.ExtensionWithMatcherPerRoute');
}

/** Does the route do for such a try what our filter would have done? */
function isWhole(route: Tree): boolean {
  const { value } = route.get('typed_per_filter_config').get(LENGTH_FILTER);
  return value !== undefined && route.get('route').get('host_rewrite').text() !== '';
}

function checkPlanned(host: Tree, route: Tree, report: Report): void {
  const name = host.get('name').text();
  for (const scope of [host, route]) {
    const override = scope.get('typed_per_filter_config').get(REQUEST_FILTER);
    if (override.get('disabled').value === true || override.get('config').get('disabled').value === true)
      report('error', 'filter_disabled', `Virtual host ${name} turns ${REQUEST_FILTER} off.`, 'Remove the override.');
    const overrides =
      override.get('config').get('overrides').entries().length > 0
        ? override.get('config').get('overrides')
        : override.get('overrides');
    if (overrides.entries().length > 0)
      report(
        'warning',
        'filter_overridden',
        `Virtual host ${name} overrides settings of ${REQUEST_FILTER}.`,
        'Remove the override.',
      );
  }
  const on = route.get('typed_per_filter_config').get(REQUEST_FILTER);
  if (on.value === undefined)
    report(
      'error',
      'filter_off',
      `A route of virtual host ${name} does not turn ${REQUEST_FILTER} on: its requests end with 503.`,
      RENDER,
    );
  const fallback = specifier(route)
    .get('priority_groups')
    .items()
    .flatMap((group) => group.get('clusters').items());
  for (const cluster of fallback) {
    const target = cluster.get('cluster_name').text();
    if (target !== NO_PLAN_CLUSTER)
      report(
        'error',
        'default_cluster',
        `Requests without a plan go to ${target}.`,
        `Use ${NO_PLAN_CLUSTER} as the only static cluster.`,
      );
  }
  const action = route.get('route');
  if (Number.parseFloat(action.get('timeout').text() || '15') !== 0)
    report(
      'error',
      'route_timeout',
      `A route of virtual host ${name} ends answers after ${action.get('timeout').text() || '15s'}, also streams that run.`,
      'Set timeout: 0s.',
    );
  if (action.get('retry_policy').get('refresh_cluster_on_retry').value !== true)
    report(
      'error',
      'refresh_cluster',
      'Retries go to the same candidate again.',
      'Set retry_policy.refresh_cluster_on_retry: true.',
    );
}
