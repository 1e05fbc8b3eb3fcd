import { retryAfterMs } from '../../core/retry-after.ts';
import { type ErrorCode, GatewayError } from '../../core/error.ts';
import type { ResponseHead } from '../../core/http.ts';
import { isObject, type JsonObject, own } from '../../core/json.ts';
import { parseUpstream } from './parse-upstream.ts';

/** The longest piece of an upstream's own words that goes on to the client, and that is kept for headers and logs. */
const MAX_MESSAGE = 1000;
const MAX_ORIGINAL = 500;
const MAX_TYPE = 64;
/** Not in any registry (RFC 9110 15): clients and proxies know 503 for the same. */
const OVERLOADED = 529;

interface Told {
  readonly message: string | null;
  readonly type: string | null;
}

/** The error of an answer whose status is not 2xx. The status is kept, but for 529; `Retry-After` too. */
export function statusError({ status, headers }: ResponseHead, body: Buffer): GatewayError {
  const code = codeOfStatus(status);
  if (code === 'upstream_auth_failed') return authFailed();
  const { message, type } = tell(parseUpstream(body));
  const retry = retryAfterMs(headers);
  return new GatewayError(code, message ?? `The model service answered with status ${status}.`, {
    ...(status >= 400 && status <= 599 && status !== OVERLOADED ? { status } : {}),
    ...(type === null ? {} : { type }),
    ...(retry === null ? {} : { retryAfterMs: retry }),
    original: body.toString('utf8', 0, MAX_ORIGINAL),
  });
}

/** The error that stands in a good answer or in its stream: `{"type": "error", "error": {"type", "message"}}`. */
export function toldError(json: JsonObject, raw: Buffer): GatewayError {
  const { message, type } = tell(json);
  const code = codeOfType(type ?? '');
  if (code === 'upstream_auth_failed') return authFailed();
  return new GatewayError(code, message ?? 'The model service reported an error in its answer.', {
    ...(type === null ? {} : { type }),
    original: raw.toString('utf8', 0, MAX_ORIGINAL),
  });
}

/** Is this the error object of a good answer? */
export function isErrorObject(json: JsonObject): boolean {
  return own(json, 'type') === 'error' || (own(json, 'error') !== null && own(json, 'type') === null);
}

/** An answer that is not what its protocol promises. `original` goes to headers and logs alone. */
export function invalidAnswer(message: string, original?: Buffer): GatewayError {
  return new GatewayError(
    'upstream_invalid_response',
    message,
    original === undefined ? {} : { original: original.toString('utf8', 0, MAX_ORIGINAL) },
  );
}

/** Such bodies may quote the key that was refused, which is ours and not the client's. */
function authFailed(): GatewayError {
  return new GatewayError('upstream_auth_failed', 'The model service refused the credentials of the gateway.');
}

function codeOfStatus(status: number): ErrorCode {
  if (status === 401 || status === 403) return 'upstream_auth_failed';
  if (status === 408 || status === 504) return 'upstream_timeout';
  if (status === 429) return 'upstream_rate_limited';
  if (status === 503 || status === OVERLOADED) return 'upstream_overloaded';
  return status >= 400 && status < 500 ? 'upstream_rejected' : 'upstream_error';
}

function codeOfType(type: string): ErrorCode {
  switch (type) {
    case 'overloaded_error':
      return 'upstream_overloaded';
    case 'rate_limit_error':
      return 'upstream_rate_limited';
    case 'authentication_error':
    case 'permission_error':
      return 'upstream_auth_failed';
    case 'timeout_error':
      return 'upstream_timeout';
    case 'invalid_request_error':
    case 'not_found_error':
    case 'request_too_large':
    case 'billing_error':
      return 'upstream_rejected';
    default:
      return 'upstream_error';
  }
}

function tell(json: JsonObject | null): Told {
  const error = json === null ? null : own(json, 'error');
  if (!isObject(error)) return { message: typeof error === 'string' ? error.slice(0, MAX_MESSAGE) : null, type: null };
  const message = own(error, 'message');
  const type = own(error, 'type');
  return {
    message: typeof message === 'string' && message !== '' ? message.slice(0, MAX_MESSAGE) : null,
    type: typeof type === 'string' && type !== '' ? type.slice(0, MAX_TYPE) : null,
  };
}
