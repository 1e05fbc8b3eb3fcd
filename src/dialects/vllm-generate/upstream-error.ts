import { retryAfterMs } from '../../core/retry-after.ts';
import { type ErrorCode, GatewayError } from '../../core/error.ts';
import type { ResponseHead } from '../../core/http.ts';
import { isObject, type Json, type JsonObject, own } from '../../core/json.ts';

/** The longest piece of an upstream's own words that goes on to the client, and that is kept for headers and logs. */
const MAX_MESSAGE = 1000;
const MAX_ORIGINAL = 500;

/** The error that a JSON object of a good answer reports in its `error` (or FastAPI's `detail`); or null. */
export function toldError(record: JsonObject): GatewayError | null {
  const error = own(record, 'error') ?? own(record, 'detail');
  if (error === null || error === false || error === '') return null;
  const inner = isObject(error) ? error : record;
  const status = [own(inner, 'code'), own(inner, 'status')].find((value) => typeof value === 'number') ?? 500;
  return new GatewayError(
    codeOf(typeof status === 'number' ? status : 500),
    messageOf(record) ?? 'The model service reported an error in its answer.',
    { original: JSON.stringify(record).slice(0, MAX_ORIGINAL) },
  );
}

/** The error of an answer whose status is not 2xx; status and `Retry-After` are kept. `body` is what came of it. */
export function statusError({ status, headers }: ResponseHead, body: Buffer): GatewayError {
  const code = codeOf(status);
  if (code === 'upstream_auth_failed') {
    // Such bodies quote the key that was refused, which is ours and not the client's.
    return new GatewayError(code, 'The model service refused the credentials of the gateway.');
  }
  const retry = retryAfterMs(headers);
  return new GatewayError(code, jsonMessage(body) ?? `The model service answered with status ${status}.`, {
    ...(status >= 400 && status <= 599 ? { status } : {}),
    ...(retry === null ? {} : { retryAfterMs: retry }),
    original: body.toString('utf8', 0, MAX_ORIGINAL),
  });
}

function codeOf(status: number): ErrorCode {
  if (status === 401 || status === 403) return 'upstream_auth_failed';
  if (status === 408 || status === 504) return 'upstream_timeout';
  if (status === 429) return 'upstream_rate_limited';
  if (status === 503) return 'upstream_overloaded';
  return status >= 400 && status < 500 ? 'upstream_rejected' : 'upstream_error';
}

function jsonMessage(body: Buffer): string | null {
  try {
    const json = JSON.parse(body.toString('utf8')) as Json;
    return isObject(json) ? messageOf(json) : null;
  } catch {
    return null;
  }
}

/** OpenAI's `{"error": {"message"}}`, `{"error": "…"}`, `{"message"}` and FastAPI's `detail`, a text or a list of faults. */
function messageOf(record: JsonObject): string | null {
  const error = own(record, 'error') ?? own(record, 'detail') ?? record;
  const first = Array.isArray(error) ? (error[0] as Json) : error;
  const text = isObject(first) ? (own(first, 'message') ?? own(first, 'msg')) : first;
  return typeof text === 'string' && text !== '' ? text.slice(0, MAX_MESSAGE) : null;
}
