/** Every refusal of the admin API: status and OpenAI's type, by code. */
export const ADMIN_ERRORS = {
  invalid_json: { status: 400, type: 'invalid_request_error' },
  invalid_value: { status: 400, type: 'invalid_request_error' },
  missing_parameter: { status: 400, type: 'invalid_request_error' },
  missing_credentials: { status: 401, type: 'authentication_error' },
  invalid_credentials: { status: 401, type: 'authentication_error' },
  expired_credentials: { status: 401, type: 'authentication_error' },
  role_required: { status: 403, type: 'permission_error' },
  tenant_not_allowed: { status: 403, type: 'permission_error' },
  not_found: { status: 404, type: 'invalid_request_error' },
  unknown_endpoint: { status: 404, type: 'invalid_request_error' },
  method_not_allowed: { status: 405, type: 'invalid_request_error' },
  request_timeout: { status: 408, type: 'timeout' },
  already_exists: { status: 409, type: 'invalid_request_error' },
  conflict: { status: 409, type: 'invalid_request_error' },
  idempotency_key_reused: { status: 409, type: 'invalid_request_error' },
  idempotency_key_running: { status: 409, type: 'invalid_request_error' },
  precondition_failed: { status: 412, type: 'invalid_request_error' },
  request_too_large: { status: 413, type: 'invalid_request_error' },
  unsupported_media_type: { status: 415, type: 'invalid_request_error' },
  precondition_required: { status: 428, type: 'invalid_request_error' },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  request_headers_too_large: { status: 431, type: 'invalid_request_error' },
  internal_error: { status: 500, type: 'server_error' },
  store_unavailable: { status: 503, type: 'server_error' },
  identity_provider_unavailable: { status: 503, type: 'server_error' },
  admin_closed: { status: 503, type: 'server_error' },
  audit_unavailable: { status: 503, type: 'server_error' },
  too_slow: { status: 503, type: 'server_error' },
} as const satisfies Readonly<Record<string, { readonly status: number; readonly type: string }>>;

export type AdminErrorCode = keyof typeof ADMIN_ERRORS;

/** A refusal. `message` is read by whoever asked: it holds no secret and nothing of another tenant. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
  readonly code: AdminErrorCode;
  /** The field or header at fault: `limits[0].window`. */
  readonly param: string | null;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: AdminErrorCode,
    message: string,
    options: ErrorOptions & {
      readonly param?: string | null;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.param = options.param ?? null;
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return ADMIN_ERRORS[this.code].status;
  }

  /** OpenAI's error object. */
  toJSON(): { error: { message: string; type: string; param: string | null; code: AdminErrorCode } } {
    const { message, code, param } = this;
    return { error: { message, type: ADMIN_ERRORS[code].type, param, code } };
  }
}
