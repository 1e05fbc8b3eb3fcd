import type { Snapshot } from '../core/snapshot.ts';
import { directOverride, requestFilterOn, watchOverride } from './ext-proc.ts';
import { WATCH_HEADER } from '../core/envoy-headers.ts';
import { NAMESPACES, NO_PLAN_CLUSTER, RETRIABLE_STATUSES, ROUTE_CONFIG } from './names.ts';
import { extension, PREVIOUS_HOSTS, seconds } from './proto.ts';
import type { Proto } from './proto.ts';

/** Added to the longest request, so that our own deadline, which ends a stream cleanly, comes first. */
const LAST_RESORT_MS = 10_000;

/** What a backend is called in the requests that it gets, where the head is made at the router level. */
const HOST = { host_rewrite: `%DYNAMIC_METADATA(${NAMESPACES.request}:host)%` };

/**
 * Four routes to the same place, which differ in what a try sees. Their static cluster is the placeholder: only a plan in
 * the dynamic metadata leads to a backend. Try n goes to group n of the plan.
 */
export function planRoutes(snapshot: Snapshot): readonly Proto[] {
  return [
    planRoute(snapshot, 'direct', watched('direct'), directOverride(), HOST),
    planRoute(snapshot, 'watch-body', watched('body'), watchOverride('STREAMED')),
    planRoute(snapshot, 'watch-head', watched('head'), watchOverride('NONE')),
    planRoute(snapshot, 'plain', { prefix: '/' }, {}),
  ];
}

function planRoute(snapshot: Snapshot, name: string, match: Proto, overrides: Proto, action: Proto = {}): Proto {
  const { timeouts } = snapshot;
  return {
    name,
    match,
    typed_per_filter_config: { ...requestFilterOn(), ...overrides },
    route: {
      inline_cluster_specifier_plugin: {
        extension: extension(
          'envoy.router.cluster_specifier_plugin.priority_group',
          'envoy.extensions.router.cluster_specifiers.priority_group.v3.PriorityGroupClusterSpecifier',
          {
            priority_groups: [{ name: 'no-plan', clusters: [{ cluster_name: NO_PLAN_CLUSTER, weight: 1 }] }],
            override_metadata_namespace: NAMESPACES.route,
          },
        ),
      },
      // `timeout` would cover a whole stream: silence is what counts, and our own deadline.
      timeout: '0s',
      max_stream_duration: { max_stream_duration: seconds(timeouts.maxRequestMs + LAST_RESORT_MS) },
      retry_policy: retryPolicy(snapshot),
      ...action,
    },
  };
}

function retryPolicy({ retry, timeouts }: Snapshot): Proto {
  return {
    retry_on: 'connect-failure,refused-stream,reset-before-request,retriable-status-codes',
    retriable_status_codes: RETRIABLE_STATUSES,
    num_retries: retry.retries,
    refresh_cluster_on_retry: true,
    // Within one backend: another endpoint than the one that died. That one has least to do, so it is picked again and again.
    retry_host_predicate: [PREVIOUS_HOSTS],
    host_selection_retry_max_attempts: 30,
    // A silence in the middle of an answer is our server's to tell, a moment earlier.
    per_try_idle_timeout: seconds(timeouts.idleMs + 1000),
    retry_back_off: { base_interval: seconds(retry.baseMs), max_interval: seconds(retry.maxMs) },
    rate_limited_retry_back_off: {
      reset_headers: [{ name: 'retry-after', format: 'SECONDS' }],
      max_interval: seconds(retry.retryAfterCapMs),
    },
  };
}

export function virtualHost(snapshot: Snapshot): Proto {
  return {
    name: 'tokenlat',
    domains: ['*'],
    include_request_attempt_count: true,
    request_body_buffer_limit: snapshot.limits.bodyBytes,
    routes: planRoutes(snapshot),
  };
}

export function routeConfiguration(snapshot: Snapshot): Proto {
  return { name: ROUTE_CONFIG, virtual_hosts: [virtualHost(snapshot)] };
}

function watched(value: string): Proto {
  return { prefix: '/', headers: [{ name: WATCH_HEADER, string_match: { exact: value } }] };
}
