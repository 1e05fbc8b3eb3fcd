import type { Snapshot } from '../core/snapshot.ts';
import { AFFINITY_HEADER, WATCH_HEADER } from '../core/envoy-headers.ts';
import {
  ATTEMPT_FILTER,
  COUNT_HEADER,
  DESTINATION,
  ID_KEY,
  LENGTH_FILTER,
  LEVEL_KEY,
  NAMESPACES,
  PROCESSOR_CLUSTER,
  REQUEST_FILTER,
} from './names.ts';
import { any, extension, PREVIOUS_HOSTS, seconds } from './proto.ts';
import type { Proto } from './proto.ts';

const EXT_PROC = 'envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor';

/**
 * A worker that is gone, or says that it is leaving, is passed over while nothing of a stream was begun. `reset` is not among
 * the causes: what a dead worker has begun must not be played again, its reservation would be charged twice. The ring's
 * neighbour is often the same host, hence the many attempts at picking another.
 */
const OPEN_ELSEWHERE: Proto = {
  retry_on: 'connect-failure,refused-stream,reset-before-request,unavailable',
  num_retries: 3,
  retry_back_off: { base_interval: '0.005s', max_interval: '0.050s' },
  retry_host_predicate: [PREVIOUS_HOSTS],
  host_selection_retry_max_attempts: 30,
};

/** So that the silence of an upstream is told as such, before our own is. */
const HELD_SLACK_MS = 2000;

/** What both levels share. A request that we do not see must not pass: hence no failure mode, and errors for bad mutations. */
function common(snapshot: Snapshot, level: 'request' | 'attempt', metadata: readonly Proto[]): Proto {
  return {
    grpc_service: {
      envoy_grpc: { cluster_name: PROCESSOR_CLUSTER },
      timeout: '0s',
      retry_policy: OPEN_ELSEWHERE,
      initial_metadata: [{ key: LEVEL_KEY, value: level }, ...metadata],
    },
    stat_prefix: level,
    failure_mode_allow: false,
    allow_mode_override: false,
    message_timeout: seconds(snapshot.server.messageTimeoutMs),
    status_on_error: { code: 'ServiceUnavailable' },
  };
}

/**
 * Router level: one stream a client request. Sees the whole request before a backend is chosen, and the whole answer. Off
 * unless a route turns it on: what Envoy refuses before it has a route (a broken head, 431) closes its connection at once
 * and must not wait for us. Without the route's word nothing passes either: only our plan leads to a backend.
 */
export function requestFilter(snapshot: Snapshot): Proto {
  return { ...extension(REQUEST_FILTER, EXT_PROC, requestConfig(snapshot)), disabled: true };
}

/** Turns the router-level filter on, for a route. */
export function requestFilterOn(): Proto {
  return { [REQUEST_FILTER]: any('envoy.config.route.v3.FilterConfig', { config: {} }) };
}

function requestConfig(snapshot: Snapshot): Proto {
  return {
    ...common(snapshot, 'request', [{ key: AFFINITY_HEADER, value: `%REQ(${AFFINITY_HEADER})%` }]),
    processing_mode: {
      request_header_mode: 'SEND',
      request_body_mode: 'FULL_DUPLEX_STREAMED',
      request_trailer_mode: 'SEND',
      response_header_mode: 'SEND',
      response_body_mode: 'FULL_DUPLEX_STREAMED',
      response_trailer_mode: 'SEND',
    },
    allow_content_length_header: true,
    mutation_rules: { disallow_is_error: true, allow_envoy: true },
    metadata_options: {
      receiving_namespaces: {
        untyped: [NAMESPACES.route, NAMESPACES.request, NAMESPACES.usage, DESTINATION.namespace],
      },
    },
  };
}

/**
 * Upstream level: one stream a try. Makes the request that the chosen backend understands. Whether a try sees its answer
 * is the route's word (`watchOverride`): most need not, and each message costs.
 */
export function attemptFilter(snapshot: Snapshot): Proto {
  return extension(ATTEMPT_FILTER, 'envoy.extensions.common.matching.v3.ExtensionWithMatcher', {
    // A matcher must be there for a route to put its own in its place (`directOverride`); this one never matches.
    xds_matcher: skipWhere(WATCH_HEADER, 'never'),
    extension_config: extension(ATTEMPT_FILTER, EXT_PROC, attemptConfig(snapshot)),
  });
}

function attemptConfig(snapshot: Snapshot): Proto {
  return {
    // From our metadata, not from the head: that lacks the key once a try before was sent.
    ...common(snapshot, 'attempt', [
      { key: AFFINITY_HEADER, value: `%DYNAMIC_METADATA(${NAMESPACES.request}:affinity)%` },
      { key: ID_KEY, value: `%DYNAMIC_METADATA(${NAMESPACES.request}:id)%` },
    ]),
    // A try may hold the head of its answer up to the first output, for as long as an upstream may be silent.
    message_timeout: seconds(Math.max(snapshot.server.messageTimeoutMs, snapshot.timeouts.idleMs + HELD_SLACK_MS)),
    // The local address is there where the try goes out on a connection that stands.
    request_attributes: ['xds.cluster_name', 'upstream.address', 'upstream.local_address'],
    processing_mode: attemptMode('SKIP', 'NONE'),
    send_body_without_waiting_for_header_response: true,
    mutation_rules: { disallow_is_error: true, allow_envoy: true, allow_all_routing: true },
    // The client's credentials were judged at the router level; a try has no use for them.
    forward_rules: { disallowed_headers: { patterns: [{ exact: 'authorization' }, { exact: 'cookie' }] } },
    metadata_options: {
      forwarding_namespaces: { untyped: [NAMESPACES.request] },
      receiving_namespaces: { untyped: [NAMESPACES.attempt] },
    },
  };
}

/** Skips a filter where a header of the request has exactly this value. */
function skipWhere(header: string, value: string): Proto {
  return {
    matcher_tree: {
      input: extension('header', 'envoy.type.matcher.v3.HttpRequestHeaderMatchInput', { header_name: header }),
      exact_match_map: {
        map: {
          [value]: {
            action: extension('skip', 'envoy.extensions.filters.common.matcher.action.v3.SkipFilter', {}),
          },
        },
      },
    },
  };
}

/**
 * Of a route whose requests are made at the router level already: the first try has no stream. What the stream would have taken
 * out of the head is taken out here. Each further try has its stream, so that the server knows of it.
 */
export function directOverride(): Proto {
  const hidden = [COUNT_HEADER, WATCH_HEADER, AFFINITY_HEADER, 'x-forwarded-proto'];
  return {
    [ATTEMPT_FILTER]: any('envoy.extensions.common.matching.v3.ExtensionWithMatcherPerRoute', {
      xds_matcher: skipWhere(COUNT_HEADER, '1'),
    }),
    [LENGTH_FILTER]: any('envoy.extensions.filters.http.header_mutation.v3.HeaderMutationPerRoute', {
      mutations: { request_mutations: hidden.map((remove) => ({ remove })) },
    }),
  };
}

/** Lets the tries of a route see the head of their answer, or head and body. */
export function watchOverride(body: 'NONE' | 'STREAMED'): Proto {
  return {
    [ATTEMPT_FILTER]: any('envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute', {
      overrides: { processing_mode: attemptMode('SEND', body) },
    }),
  };
}

/** Always whole: a body mode that is left out would be NONE. */
function attemptMode(head: 'SEND' | 'SKIP', body: 'NONE' | 'STREAMED'): Proto {
  return {
    request_header_mode: 'SEND',
    request_body_mode: 'NONE',
    request_trailer_mode: 'SKIP',
    response_header_mode: head,
    response_body_mode: body,
    response_trailer_mode: 'SKIP',
  };
}

/** A whole replaced body loses its content-length, and some servers refuse chunked ones: it is set again from our word. */
export function contentLengthFilter(): Proto {
  return extension(LENGTH_FILTER, 'envoy.extensions.filters.http.header_mutation.v3.HeaderMutation', {
    mutations: {
      request_mutations: [
        {
          append: {
            header: { key: 'content-length', value: `%DYNAMIC_METADATA(${NAMESPACES.attempt}:content_length)%` },
            append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
          },
        },
      ],
    },
  });
}

/** The router with our filters on each try, for all clusters at once. */
export function routerFilter(snapshot: Snapshot): Proto {
  return extension('envoy.filters.http.router', 'envoy.extensions.filters.http.router.v3.Router', {
    suppress_envoy_headers: true,
    upstream_http_filters: [
      attemptFilter(snapshot),
      contentLengthFilter(),
      {
        name: 'envoy.filters.http.upstream_codec',
        typed_config: any('envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec'),
      },
    ],
  });
}
