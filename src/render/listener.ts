import type { Snapshot } from '../core/snapshot.ts';
import { accessLog, cutLog } from './access-log.ts';
import { requestFilter, routerFilter } from './ext-proc.ts';
import { localReplyConfig } from './local-replies.ts';
import { AFFINITY_HEADER } from '../core/envoy-headers.ts';
import { CONNECTION_BUFFER_BYTES, LISTENER, ROUTE_CONFIG } from './names.ts';
import { any, extension, seconds, socketAddress } from './proto.ts';
import type { Proto } from './proto.ts';

/** Where the route configuration comes from: `rds` for a file of its own, `route_config` in place. */
export type RouteSource = { readonly rds: Proto } | { readonly route_config: Proto };

/** The listener for clients. `certificate` names the secret with the certificate where TLS is on. */
export function listener(snapshot: Snapshot, routes: RouteSource, certificate: Proto | null): Proto {
  const { listen } = snapshot;
  return {
    name: LISTENER,
    address: socketAddress(listen.address, listen.port),
    per_connection_buffer_limit_bytes: CONNECTION_BUFFER_BYTES,
    filter_chains: [
      {
        filters: [
          extension(
            'envoy.filters.network.http_connection_manager',
            'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
            connectionManager(snapshot, routes),
          ),
        ],
        ...(certificate === null ? {} : { transport_socket: downstreamTls(certificate) }),
      },
    ],
  };
}

function connectionManager(snapshot: Snapshot, routes: RouteSource): Proto {
  return {
    stat_prefix: 'tokenlat',
    codec_type: 'AUTO',
    ...connectionManagerPieces(snapshot),
    http_filters: [requestFilter(snapshot), routerFilter(snapshot)],
    ...('rds' in routes ? { rds: { route_config_name: ROUTE_CONFIG, config_source: routes.rds } } : routes),
  };
}

/** What a connection manager needs around our filters, whoever owns it. */
export function connectionManagerPieces(snapshot: Snapshot): Proto {
  return {
    ...hardening(snapshot),
    ...timeouts(snapshot),
    generate_request_id: true,
    // The client's id is kept as it is: our server judges it, and Envoy must not write its trace bits into it.
    preserve_external_request_id: true,
    request_id_extension: {
      typed_config: any('envoy.extensions.request_id.uuid.v3.UuidRequestIdConfig', {
        pack_trace_reason: false,
        use_request_id_for_trace_sampling: false,
      }),
    },
    early_header_mutation_extensions: [cleanHead()],
    access_log: [accessLog(), cutLog()],
    local_reply_config: localReplyConfig(),
  };
}

/** What Envoy advises for the edge. No upgrade is configured, so each is refused. */
function hardening({ limits }: Snapshot): Proto {
  return {
    use_remote_address: true,
    normalize_path: true,
    merge_slashes: true,
    path_with_escaped_slashes_action: 'REJECT_REQUEST',
    max_request_headers_kb: Math.ceil(limits.headerBytes / 1024),
    common_http_protocol_options: {
      headers_with_underscores_action: 'REJECT_REQUEST',
      max_headers_count: 100,
      idle_timeout: '300s',
    },
    http2_protocol_options: {
      max_concurrent_streams: 100,
      initial_stream_window_size: 262_144,
      initial_connection_window_size: 1_048_576,
    },
  };
}

function timeouts({ timeouts }: Snapshot): Proto {
  return {
    // Our deadline ends a request; this only ends what nobody watches any more.
    stream_idle_timeout: seconds(timeouts.maxRequestMs + 10_000),
    request_timeout: seconds(timeouts.requestMs),
    request_headers_timeout: '10s',
    // Time for a client that still sends its body to read the refusal.
    delayed_close_timeout: '0.250s',
  };
}

/** Before any filter: what only the gateway may say is taken out of the client's head, and the affinity key is put in. */
function cleanHead(): Proto {
  return extension(
    'envoy.http.early_header_mutation.header_mutation',
    'envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation',
    {
      mutations: [
        { remove_on_match: { key_matcher: { prefix: 'x-tokenlat-', ignore_case: true } } },
        { remove_on_match: { key_matcher: { prefix: 'x-envoy-', ignore_case: true } } },
        {
          append: {
            header: { key: AFFINITY_HEADER, value: '%UNIQUE_ID%' },
            append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
          },
        },
      ],
    },
  );
}

function downstreamTls(certificate: Proto): Proto {
  return extension('envoy.transport_sockets.tls', 'envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext', {
    common_tls_context: {
      tls_params: { tls_minimum_protocol_version: 'TLSv1_2' },
      alpn_protocols: ['h2', 'http/1.1'],
      ...certificate,
    },
  });
}
