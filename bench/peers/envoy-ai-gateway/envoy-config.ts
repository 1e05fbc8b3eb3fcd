import { yamlText } from '../../../src/config/yaml-text.ts';
import type { Snapshot } from '../../../src/core/snapshot.ts';
import { connectionManagerPieces, listener } from '../../../src/render/listener.ts';
import { any, extension, seconds, socketAddress, type Proto } from '../../../src/render/proto.ts';

/*
 * What the control plane of Envoy AI Gateway 1.2 hands to Envoy for one backend (its extension server, and its own data-plane
 * tests): a filter at the router that sees whole bodies and lets its server choose streaming for an event stream, and a filter
 * at the upstream that sees heads. The listener around them is the one that all setups here have.
 */

const EXT_PROC = 'envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor';
const PROTOCOL = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
const FILTER = 'envoy.filters.http.ext_proc/aigateway';
const PROCESSOR = 'ai-gateway-extproc-uds';
const BACKEND = 'httproute/default/aigw-run/rule/0';
const NAMESPACE = 'io.envoy.ai_gateway';
const INTERNAL = 'aigateway.envoy.io';
const BUFFER_BYTES = 52_428_800;

export interface EnvoyConfigOptions {
  /** For the listener and its admin port. */
  readonly snapshot: Snapshot;
  readonly modelPort: number;
  /** Unix socket of the ext_proc server. */
  readonly socket: string;
}

/** The bootstrap of an Envoy in front of the peer's ext_proc server. */
export function envoyConfig({ snapshot, modelPort, socket }: EnvoyConfigOptions): string {
  const route_config = routes();
  const manager = extension(
    'envoy.filters.network.http_connection_manager',
    'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    {
      stat_prefix: 'peer',
      codec_type: 'AUTO',
      ...connectionManagerPieces(snapshot),
      http_filters: [
        { ...routerLevel(), disabled: true },
        extension('envoy.filters.http.router', 'envoy.extensions.filters.http.router.v3.Router', {
          suppress_envoy_headers: true,
        }),
      ],
      route_config,
    },
  );
  const front: Proto = {
    ...listener(snapshot, { route_config }, null),
    per_connection_buffer_limit_bytes: BUFFER_BYTES,
    filter_chains: [{ filters: [manager] }],
  };
  return yamlText({
    node: { id: 'bench', cluster: 'bench' },
    admin: { address: socketAddress('127.0.0.1', snapshot.listen.adminPort) },
    static_resources: { listeners: [front], clusters: [processorCluster(socket), backendCluster(modelPort)] },
  });
}

/** A request has no route of its own until the server has named its model; the server has Envoy choose again. */
function routes(): Proto {
  const on = { [FILTER]: any('envoy.config.route.v3.FilterConfig', { config: {} }) };
  return {
    name: 'peer',
    virtual_hosts: [
      {
        name: 'peer',
        domains: ['*'],
        routes: [
          {
            match: {
              prefix: '/',
              headers: [{ name: 'x-ai-eg-model', string_match: { safe_regex: { regex: '.*' } } }],
            },
            route: { cluster: BACKEND, timeout: '120s' },
            metadata: { filter_metadata: { [INTERNAL]: { route_name: 'default/aigw-run' } } },
            typed_per_filter_config: on,
          },
          { match: { prefix: '/' }, direct_response: { status: 404 }, typed_per_filter_config: on },
        ],
      },
    ],
  };
}

function routerLevel(): Proto {
  return extension(FILTER, EXT_PROC, {
    stat_prefix: 'request',
    grpc_service: { envoy_grpc: { cluster_name: PROCESSOR } },
    metadata_options: { receiving_namespaces: { untyped: [NAMESPACE] } },
    processing_mode: {
      request_header_mode: 'SEND',
      request_body_mode: 'BUFFERED',
      request_trailer_mode: 'SKIP',
      response_header_mode: 'SEND',
      response_body_mode: 'BUFFERED',
      response_trailer_mode: 'SKIP',
    },
    message_timeout: seconds(10_000),
    failure_mode_allow: false,
    allow_mode_override: true,
  });
}

function upstreamLevel(): Proto {
  return extension(FILTER, EXT_PROC, {
    stat_prefix: 'attempt',
    grpc_service: { envoy_grpc: { cluster_name: PROCESSOR }, timeout: seconds(30_000) },
    metadata_options: { receiving_namespaces: { untyped: [NAMESPACE] } },
    request_attributes: [
      `xds.upstream_host_metadata.filter_metadata['${INTERNAL}']['per_route_rule_backend_name']`,
      `xds.cluster_metadata.filter_metadata['${INTERNAL}']['per_route_rule_backend_name']`,
      `xds.route_metadata.filter_metadata['${INTERNAL}']['route_name']`,
    ],
    processing_mode: {
      request_header_mode: 'SEND',
      request_body_mode: 'NONE',
      response_header_mode: 'SKIP',
      response_body_mode: 'NONE',
    },
    message_timeout: seconds(10_000),
    allow_mode_override: true,
  });
}

function contentLength(): Proto {
  const append = {
    append_action: 'ADD_IF_ABSENT',
    header: { key: 'content-length', value: `%DYNAMIC_METADATA(${NAMESPACE}:content_length)%` },
  };
  return extension(
    'envoy.filters.http.header_mutation',
    'envoy.extensions.filters.http.header_mutation.v3.HeaderMutation',
    { mutations: { request_mutations: [{ append }] } },
  );
}

function processorCluster(socket: string): Proto {
  const http2_protocol_options = { initial_connection_window_size: 1_048_576, initial_stream_window_size: 65_536 };
  return {
    name: PROCESSOR,
    type: 'STATIC',
    connect_timeout: seconds(10_000),
    per_connection_buffer_limit_bytes: BUFFER_BYTES,
    typed_extension_protocol_options: {
      [PROTOCOL]: any(PROTOCOL, { explicit_http_config: { http2_protocol_options } }),
    },
    load_assignment: {
      cluster_name: PROCESSOR,
      endpoints: [{ lb_endpoints: [{ endpoint: { address: { pipe: { path: socket } } } }] }],
    },
  };
}

function backendCluster(modelPort: number): Proto {
  const codec = extension(
    'envoy.filters.http.upstream_codec',
    'envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec',
  );
  const filter_metadata = { [INTERNAL]: { per_route_rule_backend_name: 'default/openai/route/aigw-run/rule/0/ref/0' } };
  return {
    name: BACKEND,
    type: 'STATIC',
    connect_timeout: seconds(10_000),
    lb_policy: 'LEAST_REQUEST',
    per_connection_buffer_limit_bytes: BUFFER_BYTES,
    circuit_breakers: {
      thresholds: [{ max_connections: 100_000, max_pending_requests: 100_000, max_requests: 100_000 }],
    },
    typed_extension_protocol_options: {
      [PROTOCOL]: any(PROTOCOL, {
        explicit_http_config: { http_protocol_options: {} },
        http_filters: [upstreamLevel(), contentLength(), codec],
      }),
    },
    load_assignment: {
      cluster_name: BACKEND,
      endpoints: [
        {
          lb_endpoints: [
            {
              endpoint: { address: socketAddress('127.0.0.1', modelPort) },
              metadata: { filter_metadata },
            },
          ],
        },
      ],
    },
  };
}
