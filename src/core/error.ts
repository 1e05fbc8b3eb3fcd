import type { HeaderPair } from './http.ts';

/** Who is at fault, as `x-error-source` tells it. */
export type ErrorSource = 'gateway' | 'model_service';

export interface ErrorSpec {
  readonly status: number;
  readonly type: string;
  /** May the same request be sent again unchanged with a chance to succeed? */
  readonly retryable: boolean;
  readonly source: ErrorSource;
}

const client = (status: number, type = 'invalid_request_error'): ErrorSpec => ({
  status,
  type,
  retryable: false,
  source: 'gateway',
});
const gateway = (status: number, type = 'server_error'): ErrorSpec => ({
  status,
  type,
  retryable: true,
  source: 'gateway',
});
const upstream = (status: number, type = 'upstream_error', retryable = true): ErrorSpec => ({
  status,
  type,
  retryable,
  source: 'model_service',
});

/** Every error a client can see from us. The one table: statuses, docs, retry rules and tests derive from it. */
export const ERRORS = {
  // the request itself
  invalid_json: client(400),
  invalid_encoding: client(400),
  duplicate_key: client(400),
  json_too_deep: client(400),
  json_too_many_keys: client(400),
  invalid_value: client(400),
  missing_parameter: client(400),
  unsupported_parameter: client(400),
  invalid_path: client(400),
  invalid_header: client(400),
  context_length_exceeded: client(400),
  unsupported_endpoint: client(400),
  content_filter: client(400),
  unknown_endpoint: client(404),
  method_not_allowed: client(405),
  endpoint_disabled: client(405),
  unsupported_content_encoding: client(415),
  unsupported_media_type: client(415),
  request_too_large: client(413),
  request_headers_too_large: client(431),
  upgrade_not_supported: client(426),
  // who asks
  missing_credentials: client(401, 'authentication_error'),
  invalid_credentials: client(401, 'authentication_error'),
  expired_credentials: client(401, 'authentication_error'),
  model_not_allowed: client(403, 'permission_error'),
  scope_required: client(403, 'permission_error'),
  model_not_found: client(404),
  job_not_found: client(404),
  job_over: client(409),
  // how much
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error', retryable: true, source: 'gateway' },
  insufficient_quota: { status: 429, type: 'insufficient_quota', retryable: false, source: 'gateway' },
  budget_exceeded: { status: 429, type: 'insufficient_quota', retryable: false, source: 'gateway' },
  surge_protection: { status: 429, type: 'rate_limit_error', retryable: true, source: 'gateway' },
  jobs_full: { status: 429, type: 'rate_limit_error', retryable: true, source: 'gateway' },
  zone_saturated: { status: 429, type: 'rate_limit_error', retryable: true, source: 'gateway' },
  pool_saturated: { status: 429, type: 'rate_limit_error', retryable: true, source: 'gateway' },
  deployment_saturated: { status: 429, type: 'rate_limit_error', retryable: true, source: 'gateway' },
  circuit_breaker_open: gateway(503),
  no_candidate: gateway(503),
  // what we lean on
  store_unavailable: gateway(503),
  state_lost: gateway(503),
  identity_provider_unavailable: gateway(503),
  audit_unavailable: gateway(503),
  processor_unavailable: gateway(503),
  shutting_down: gateway(503),
  request_timeout: { status: 408, type: 'timeout', retryable: true, source: 'gateway' },
  internal_error: gateway(500),
  // the model service
  upstream_unreachable: upstream(503),
  upstream_timeout: upstream(504, 'timeout'),
  upstream_error: upstream(502),
  upstream_overloaded: upstream(503, 'overloaded_error'),
  upstream_rate_limited: upstream(429, 'rate_limit_error'),
  upstream_auth_failed: upstream(502, 'upstream_error', false),
  upstream_invalid_response: upstream(502),
  upstream_response_too_large: upstream(502, 'upstream_error', false),
  upstream_stream_interrupted: upstream(502),
  upstream_rejected: upstream(400, 'invalid_request_error', false),
} as const satisfies Record<string, ErrorSpec>;

export type ErrorCode = keyof typeof ERRORS;

export interface GatewayErrorOptions {
  /** The field of the request at fault, as OpenAI's `param`: `messages[0].content`. */
  readonly param?: string | null;
  /** Where the status differs from the table's (an upstream 422 stays 422). */
  readonly status?: number;
  /** Where the type differs from the table's (`overloaded_error` told by the upstream). */
  readonly type?: string;
  readonly headers?: readonly HeaderPair[];
  readonly retryAfterMs?: number;
  /** What the upstream said: redacted and bounded before it goes into `x-original-error`. */
  readonly original?: string;
  readonly cause?: unknown;
}

/** The one error class. `message` is read by clients: it holds no secret and no text of another tenant. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly param: string | null;
  readonly status: number;
  readonly type: string;
  readonly headers: readonly HeaderPair[];
  readonly retryAfterMs: number | null;
  readonly original: string | null;

  constructor(code: ErrorCode, message: string, options: GatewayErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'GatewayError';
    this.code = code;
    this.param = options.param ?? null;
    this.status = options.status ?? ERRORS[code].status;
    this.type = options.type ?? ERRORS[code].type;
    this.headers = options.headers ?? [];
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.original = options.original ?? null;
  }

  get source(): ErrorSource {
    return ERRORS[this.code].source;
  }

  get retryable(): boolean {
    return ERRORS[this.code].retryable;
  }

  /** Any thrown value as one of ours; what is not ours becomes `internal_error` with the cause kept for the log. */
  static from(reason: unknown): GatewayError {
    if (reason instanceof GatewayError) return reason;
    return new GatewayError('internal_error', 'The gateway failed to handle this request.', { cause: reason });
  }

  /** The OpenAI error object. */
  toJSON(): { error: { message: string; type: string; param: string | null; code: ErrorCode } } {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.code } };
  }
}
