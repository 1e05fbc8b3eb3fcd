import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadExample } from '../../../test/render/generated.ts';
import { bootstrap } from '../bootstrap.ts';
import { backendCluster, noPlanCluster, processorCluster } from '../clusters.ts';
import { listener } from '../listener.ts';
import { picked } from '../picked.ts';
import { fileSource } from '../proto.ts';
import { routeConfiguration } from '../routes.ts';
import { diagnose } from './diagnose.ts';

const snapshot = loadExample('tokenlat.yaml');

// The dump as loosely typed JSON: tests break single things in it.
// eslint-disable-next-line typescript/no-explicit-any
type Loose = any;

const type = (name: string): string => `type.googleapis.com/envoy.admin.v3.${name}`;

function dump(): Loose {
  const clusters = [...snapshot.backends.values()].map((backend) =>
    backendCluster(backend, snapshot.timeouts, { caFile: '/ca', endpoints: null }),
  );
  return JSON.parse(
    JSON.stringify({
      configs: [
        { '@type': type('BootstrapConfigDump'), bootstrap: bootstrap(snapshot, { id: 'n', lds: '/l', cds: '/c' }) },
        {
          '@type': type('ClustersConfigDump'),
          dynamic_active_clusters: [processorCluster(snapshot), noPlanCluster(), ...clusters].map((cluster) => ({
            cluster,
          })),
        },
        {
          '@type': type('ListenersConfigDump'),
          dynamic_listeners: [{ active_state: { listener: listener(snapshot, { rds: fileSource('/r') }, null) } }],
        },
        { '@type': type('RoutesConfigDump'), dynamic_route_configs: [{ route_config: routeConfiguration(snapshot) }] },
      ],
    }),
  );
}

interface Parts {
  readonly dump: Loose;
  readonly listener: Loose;
  readonly manager: Loose;
  readonly request: Loose;
  readonly upstream: Loose[];
  readonly route: Loose;
  readonly routes: Loose[];
  readonly clusters: Loose[];
}

function codes(
  change: (parts: Parts) => void = () => {},
  stats = '',
  version = 'abc/1.40.0/Clean/RELEASE/BoringSSL',
): string[] {
  const made = dump();
  const front = made.configs[2].dynamic_listeners[0].active_state.listener;
  const manager = front.filter_chains[0].filters[0].typed_config;
  change({
    dump: made,
    listener: front,
    manager,
    request: manager.http_filters[0].typed_config,
    upstream: manager.http_filters[1].typed_config.upstream_http_filters,
    route: made.configs[3].dynamic_route_configs[0].route_config.virtual_hosts[0].routes[0],
    routes: made.configs[3].dynamic_route_configs[0].route_config.virtual_hosts[0].routes,
    clusters: made.configs[1].dynamic_active_clusters,
  });
  const findings = diagnose({ configDump: made, stats, serverInfo: { version }, snapshot });
  for (const finding of findings) assert.ok(finding.message.length > 10 && finding.fix.length > 5);
  return findings.map((finding) => finding.code);
}

test('what we render is without fault', () => {
  assert.deepEqual(codes(), []);
});

const FAULTS: readonly [code: string, change: (parts: Parts) => void][] = [
  ['request_filter_missing', ({ manager }) => manager.http_filters.shift()],
  ['attempt_filter_missing', ({ upstream }) => upstream.shift()],
  ['content_length_missing', ({ upstream }) => upstream.splice(1, 1)],
  ['filter_order', ({ manager }) => manager.http_filters.splice(1, 0, { name: 'x', typed_config: {} })],
  ['failure_mode_allow', ({ request }) => (request.failure_mode_allow = true)],
  ['processing_mode', ({ request }) => (request.processing_mode.request_body_mode = 'BUFFERED_PARTIAL')],
  ['processing_mode', ({ request }) => delete request.processing_mode.response_body_mode],
  ['message_timeout', ({ request }) => delete request.message_timeout],
  ['mutation_rules', ({ request }) => delete request.mutation_rules],
  ['processor_cluster', ({ request }) => (request.grpc_service.envoy_grpc.cluster_name = 'other')],
  ['client_headers_kept', ({ manager }) => delete manager.early_header_mutation_extensions],
  ['path_normalisation', ({ manager }) => delete manager.normalize_path],
  ['local_replies', ({ manager }) => delete manager.local_reply_config],
  ['route_missing', ({ routes }) => routes.splice(0, 4)],
  ['watch_routes', ({ routes }) => routes.splice(1, 1)],
  ['direct_route', ({ routes }) => routes.shift()],
  ['direct_route_host', ({ route }) => delete route.route.host_rewrite],
  ['direct_route_host', ({ route }) => delete route.typed_per_filter_config['tokenlat.content-length']],
  ['filter_off', ({ route }) => delete route.typed_per_filter_config],
  ['filter_disabled', ({ route }) => (route.typed_per_filter_config['tokenlat.request'].disabled = true)],
  [
    'filter_overridden',
    ({ route }) => (route.typed_per_filter_config['tokenlat.request'] = { overrides: { failure_mode_allow: true } }),
  ],
  ['route_timeout', ({ route }) => delete route.route.timeout],
  ['refresh_cluster', ({ route }) => delete route.route.retry_policy.refresh_cluster_on_retry],
  [
    'default_cluster',
    ({ route }) =>
      (route.route.inline_cluster_specifier_plugin.extension.typed_config.priority_groups[0].clusters[0].cluster_name =
        'vllm-a'),
  ],
  [
    'route_around',
    ({ dump }) =>
      dump.configs[3].dynamic_route_configs[0].route_config.virtual_hosts.push({
        name: 'v',
        routes: [{ route: { cluster: 'vllm-a' } }],
      }),
  ],
  ['cluster_missing', ({ clusters }) => clusters.pop()],
  ['outlier_detection', ({ clusters }) => (clusters[3].cluster.outlier_detection = {})],
  ['circuit_breaker', ({ clusters }) => delete clusters[2].cluster.circuit_breakers],
  ['dead_host', ({ clusters }) => delete clusters[2].cluster.upstream_bind_config],
  ['dead_host', ({ clusters }) => delete clusters[3].cluster.upstream_connection_options.tcp_keepalive],
  ['workers', ({ clusters }) => clusters[0].cluster.load_assignment.endpoints[0].lb_endpoints.pop()],
  [
    'stream_window',
    ({ clusters }) =>
      (clusters[0].cluster.typed_extension_protocol_options[
        'envoy.extensions.upstreams.http.v3.HttpProtocolOptions'
      ].explicit_http_config.http2_protocol_options.initial_stream_window_size = 1_048_576),
  ],
  ['receiving_namespaces', ({ request }) => request.metadata_options.receiving_namespaces.untyped.shift()],
  ['pool_policy', ({ clusters }) => (clusters[2].cluster.load_balancing_policy = picked({ slowStartMs: 0 }))],
  ['affinity', ({ clusters }) => delete clusters[0].cluster.lb_policy],
  ['buffer_limit', ({ listener }) => (listener.per_connection_buffer_limit_bytes = 1 << 27)],
  ['admin_open', ({ dump }) => (dump.configs[0].bootstrap.admin.address.socket_address.address = '0.0.0.0')],
  [
    'second_full_duplex',
    ({ manager }) =>
      manager.http_filters.unshift({
        name: 'x',
        typed_config: {
          '@type': 'type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor',
          processing_mode: { request_body_mode: 'FULL_DUPLEX_STREAMED' },
        },
      }),
  ],
];

for (const [code, change] of FAULTS) {
  test(`found: ${code}`, () => {
    assert.ok(codes(change).includes(code), JSON.stringify(codes(change)));
  });
}

test('an outlier detection on a cluster of several hosts is no dead end', () => {
  assert.deepEqual(
    codes(({ clusters }) => (clusters[2].cluster.outlier_detection = {})),
    [],
  );
});

const stats = (count: number): string =>
  [
    'http.tokenlat.ext_proc.request.rejected_header_mutations',
    'http.tokenlatext_proc.attempt.spurious_msgs_received',
    'http.tokenlat.ext_proc.request.clear_route_cache_ignored',
    'cluster.vllm-a.retry_or_shadow_abandoned',
    'listener_manager.lds.update_rejected',
  ]
    .map((name) => `${name}: ${count}`)
    .join('\n');

test('counters that should be 0 are found, and zeros are not', () => {
  assert.deepEqual(codes(undefined, stats(0)), []);
  assert.deepEqual(codes(undefined, stats(2)).toSorted(), [
    'clear_route_cache_ignored',
    'rejected_header_mutations',
    'retry_or_shadow_abandoned',
    'spurious_msgs_received',
    'update_rejected',
  ]);
});

test('old and unknown versions are found', () => {
  assert.deepEqual(codes(undefined, '', 'abc/1.39.9/Clean'), ['envoy_version']);
  assert.deepEqual(codes(undefined, '', 'abc/1.41.0/Clean'), []);
  assert.deepEqual(codes(undefined, '', 'odd'), ['envoy_version']);
});

test('a dump of anything at all does not throw', () => {
  for (const configDump of [null, undefined, 7, 'x', [], {}, { configs: 'x' }, { configs: [null, {}, { '@type': 5 }] }])
    assert.ok(diagnose({ configDump, stats: '\0\n:::', serverInfo: null, snapshot }).length > 0);
});

test('with a pool its list must arrive, and its cluster must go by it', () => {
  const pool = loadExample('pool.yaml');
  const made = {
    configs: [
      {
        '@type': type('ClustersConfigDump'),
        dynamic_active_clusters: [...pool.backends.values()].map((backend) => ({
          cluster: backendCluster(backend, pool.timeouts, {
            caFile: '/ca',
            endpoints: null,
          }),
        })),
      },
      {
        '@type': type('ListenersConfigDump'),
        dynamic_listeners: [{ active_state: { listener: listener(pool, { rds: fileSource('/r') }, null) } }],
      },
    ],
  };
  const found = (change: (dump: Loose) => void): readonly string[] => {
    const configDump: Loose = JSON.parse(JSON.stringify(made));
    change(configDump);
    return diagnose({ configDump, stats: '', serverInfo: { version: 'abc/1.40.0/Clean' }, snapshot: pool })
      .map(({ code }) => code)
      .filter((code) => code === 'pool_policy' || code === 'receiving_namespaces');
  };
  assert.deepEqual(
    found(() => {}),
    [],
  );
  assert.deepEqual(
    found((dump) => {
      const [front] = dump.configs[1].dynamic_listeners[0].active_state.listener.filter_chains;
      front.filters[0].typed_config.http_filters[0].typed_config.metadata_options.receiving_namespaces.untyped.pop();
    }),
    ['receiving_namespaces'],
  );
  assert.deepEqual(
    found((dump) => delete dump.configs[0].dynamic_active_clusters[0].cluster.load_balancing_policy),
    ['pool_policy'],
  );
});
