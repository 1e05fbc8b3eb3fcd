import { NAMESPACES, USAGE_FIELDS } from './names.ts';
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
