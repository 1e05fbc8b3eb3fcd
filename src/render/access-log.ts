import { CUT_LOG, ID_KEY, NAMESPACES, PROCESSOR_CLUSTER, USAGE_FIELDS } from './names.ts';
import { extension } from './proto.ts';
import type { Proto } from './proto.ts';

/** One JSON line a request on standard output. No query, no credentials, no prompt. */
export function accessLog(): Proto {
  return extension('envoy.access_loggers.stdout', 'envoy.extensions.access_loggers.stream.v3.StdoutAccessLog', {
    log_format: {
      json_format: {
        time: '%START_TIME(%Y-%m-%dT%H:%M:%S.%3fZ)%',
        request_id: '%REQ(X-REQUEST-ID)%',
        method: '%REQ(:METHOD)%',
        protocol: '%PROTOCOL%',
        status: '%RESPONSE_CODE%',
        details: '%RESPONSE_CODE_DETAILS%',
        flags: '%RESPONSE_FLAGS%',
        duration_ms: '%DURATION%',
        first_byte_ms: '%RESPONSE_DURATION%',
        bytes_received: '%BYTES_RECEIVED%',
        bytes_sent: '%BYTES_SENT%',
        client: '%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%',
        upstream_cluster: '%UPSTREAM_CLUSTER%',
        upstream_host: '%UPSTREAM_HOST%',
        upstream_attempts: '%UPSTREAM_REQUEST_ATTEMPT_COUNT%',
        ...Object.fromEntries(USAGE_FIELDS.map((field) => [field, `%DYNAMIC_METADATA(${NAMESPACES.usage}:${field})%`])),
      },
    },
  });
}

/** Flags of an answer that its upstream did not finish: broken connection, reset, protocol error, silence. */
const CUT_FLAGS = ['UC', 'UR', 'UPE', 'UT', 'SI'];

/**
 * Tells our server which answers broke at the upstream, so that such a request is not taken for one whose client left: the
 * end of its ext_proc stream looks the same. Nothing is sent for any other request.
 */
export function cutLog(): Proto {
  return {
    ...extension('envoy.access_loggers.http_grpc', 'envoy.extensions.access_loggers.grpc.v3.HttpGrpcAccessLogConfig', {
      common_config: {
        log_name: CUT_LOG,
        transport_api_version: 'V3',
        grpc_service: { envoy_grpc: { cluster_name: PROCESSOR_CLUSTER } },
        buffer_flush_interval: '0.020s',
        buffer_size_bytes: 0,
        custom_tags: [
          {
            tag: ID_KEY,
            metadata: {
              kind: { request: {} },
              metadata_key: { key: NAMESPACES.request, path: [{ key: 'id' }] },
            },
          },
        ],
      },
    }),
    filter: { response_flag_filter: { flags: CUT_FLAGS } },
  };
}
