import { ERRORS } from '../core/error.ts';
import type { ErrorCode } from '../core/error.ts';
import { LOCAL_REPLY_HEADER } from './names.ts';
import { extension } from './proto.ts';
import type { Proto } from './proto.ts';

interface Rule {
  /** CEL over `response.code_details`. Details of our own answers are our error codes and match none of these. */
  readonly when: string;
  readonly code: ErrorCode;
  readonly message: string;
  /**
   * What tells our server, which sees the answer after this, that no upstream gave it; the server takes it out again. Null
   * for answers before any route, which our server never sees.
   */
  readonly mark: string | null;
}

const DETAILS = '%RESPONSE_CODE_DETAILS%';

const starts = (...beginnings: readonly string[]): string =>
  beginnings.map((text) => `response.code_details.startsWith('${text}')`).join(' || ');

/** Envoy's own refusals and failures, first match first. */
const RULES: readonly Rule[] = [
  {
    when: starts(
      'ext_proc_error',
      'ext_proc_spurious',
      'spurious_message',
      'header_mutation_set_',
      'header_mutation_remove_',
      'mismatch_between_content_length',
    ),
    code: 'processor_unavailable',
    message: 'The gateway cannot handle requests right now. Please retry.',
    mark: 'ext_proc_error',
  },
  {
    when: starts('request_payload_too_large', 'request_payload_exceeded'),
    code: 'request_too_large',
    message: 'The request body is too large.',
    mark: DETAILS,
  },
  {
    when: `response.code == 431 && (${starts('http1.', 'http2.')})`,
    code: 'request_headers_too_large',
    message: 'The request headers are too large.',
    mark: null,
  },
  {
    when: starts('path_normalization_failed', 'http1.invalid_url', 'absolute_path_rejected'),
    code: 'invalid_path',
    message: 'The request path is not valid.',
    mark: null,
  },
  {
    when: `(response.code == 400 || response.code == 501) && (${starts('http1.', 'http2.', 'http3.', 'missing_host', 'missing_path', 'codec_error')})`,
    code: 'invalid_header',
    message: 'The request head is not valid HTTP.',
    mark: null,
  },
  {
    when: starts('low_version'),
    code: 'upgrade_not_supported',
    message: 'HTTP/1.1 or HTTP/2 is required.',
    mark: null,
  },
  {
    when: starts('upgrade_failed'),
    code: 'upgrade_not_supported',
    message: 'Protocol upgrades are not supported.',
    mark: DETAILS,
  },
  {
    when: starts('route_not_found'),
    code: 'unknown_endpoint',
    message: 'There is no such endpoint.',
    mark: DETAILS,
  },
  {
    when: starts('request_header_timeout'),
    code: 'request_timeout',
    message: 'The request head took too long.',
    mark: null,
  },
  {
    when: starts(
      'request_overall_timeout',
      'stream_idle_timeout',
      'downstream_duration_timeout',
      'max_duration_timeout',
    ),
    code: 'request_timeout',
    message: 'The request took too long.',
    mark: DETAILS,
  },
  {
    when: starts('overload', 'Envoy is overloaded', 'too_many_requests'),
    code: 'shutting_down',
    message: 'The gateway is overloaded. Please retry.',
    mark: null,
  },
  {
    when: starts('no_healthy_upstream', 'cluster_not_found', 'maintenance_mode'),
    code: 'no_candidate',
    message: 'No backend can serve this request right now.',
    mark: DETAILS,
  },
  {
    when: starts(
      'upstream_response_timeout',
      'response_timeout',
      'upstream_per_try_timeout',
      'upstream_per_try_idle_timeout',
      'per_try_idle_timeout',
      'upstream_max_stream_duration_reached',
    ),
    code: 'upstream_timeout',
    message: 'The model service did not answer in time.',
    mark: DETAILS,
  },
  {
    when: starts(
      'upstream_reset_before_response_started',
      'early_upstream_reset',
      'upstream_reset_after_response_started',
      'filter_chain_not_found',
    ),
    code: 'upstream_unreachable',
    message: 'The model service could not be reached.',
    mark: DETAILS,
  },
];

/** Gives Envoy's own answers the shape that clients know from ours, and leaves ours alone. */
export function localReplyConfig(): Proto {
  return { mappers: RULES.map(mapper) };
}

function mapper({ when, code, message, mark }: Rule): Proto {
  const { status, type, retryable, source } = ERRORS[code];
  const body = JSON.stringify({ error: { message, type, param: null, code } });
  return {
    filter: {
      extension_filter: extension(
        'envoy.access_loggers.extension_filters.cel',
        'envoy.extensions.access_loggers.filters.cel.v3.ExpressionFilter',
        {
          expression: when,
        },
      ),
    },
    status_code: status,
    body_format_override: {
      text_format_source: { inline_string: body.replaceAll('%', '%%') },
      content_type: 'application/json',
    },
    headers_to_add: [
      ...(mark === null ? [] : [header(LOCAL_REPLY_HEADER, mark)]),
      header('x-error-source', source),
      header('x-request-id', '%REQ(X-REQUEST-ID)%'),
      ...(retryable ? [header('retry-after', '1')] : []),
    ],
  };
}

function header(key: string, value: string): Proto {
  return { header: { key, value }, append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' };
}
