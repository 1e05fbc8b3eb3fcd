import { retryAfterMs } from '../../core/retry-after.ts';
import { type ErrorCode, ERRORS, GatewayError } from '../../core/error.ts';
import type { ResponseHead } from '../../core/http.ts';
import { isObject, type Json, type JsonObject } from '../../core/json.ts';
import { parseUpstream } from './parse-upstream.ts';

const MAX_MESSAGE = 1000;
const MAX_ORIGINAL = 500;
const MAX_NAME = 64;

/** An upstream's failure, and its body where the client may have that: unchanged, or with the fields that it lacks. */
export interface UpstreamFailure {
  readonly error: GatewayError;
  readonly raw?: Buffer;
}

interface OpenAiShape {
  readonly whole: JsonObject;
  readonly inner: JsonObject;
}

interface Told {
  readonly message: string | null;
  readonly type: string | null;
  readonly param: string | null;
  /** The object around it, where it is `{"error": {"message": "…"}}`, as OpenAI's clients read it. */
  readonly openAi: OpenAiShape | null;
}

/** The failure that an answer with an error status is. The status is kept, `Retry-After` too. */
export function failureOfStatus(head: ResponseHead, body: Buffer): UpstreamFailure {
  const { status } = head;
  const code = codeOfStatus(status);
  const retry = retryAfterMs(head.headers);
  if (code === 'upstream_auth_failed') {
    // Such bodies quote the key that was refused, which is ours and not the client's.
    return { error: new GatewayError(code, 'The model service refused the credentials of the gateway.') };
  }
  const told = tell(parseUpstream(body));
  const original = body.toString('utf8', 0, MAX_ORIGINAL);
  const error = new GatewayError(code, told.message ?? `The model service answered with status ${status}.`, {
    ...(status >= 400 && status < 600 ? { status } : {}),
    ...(told.type === null ? {} : { type: told.type }),
    ...(retry === null ? {} : { retryAfterMs: retry }),
    param: told.param,
    original,
  });
  return told.openAi === null ? { error } : { error, raw: completed(told.openAi, body, error) };
}

/** The failure that an error object in a 200 answer is, or null when `json` is none. */
export function failureInAnswer(
  json: { readonly [key: string]: Json },
  raw: Buffer,
  named: boolean,
): UpstreamFailure | null {
  if (!named && (json['error'] ?? null) === null) return null;
  const told = tell(json);
  const code = codeOfType(told.type);
  const error = new GatewayError(code, told.message ?? 'The model service reported an error in its answer.', {
    ...(told.type === null ? {} : { type: told.type }),
    param: told.param,
    original: raw.toString('utf8', 0, MAX_ORIGINAL),
  });
  if (told.openAi === null || code === 'upstream_auth_failed') return { error };
  return { error, raw: completed(told.openAi, raw, error) };
}

/** An answer that is not what its protocol promises. `original` goes to headers and logs alone. */
export function invalidAnswer(message: string, original?: Buffer): GatewayError {
  return new GatewayError(
    'upstream_invalid_response',
    message,
    original === undefined ? {} : { original: original.toString('utf8', 0, MAX_ORIGINAL) },
  );
}

function codeOfStatus(status: number): ErrorCode {
  if (status === 401 || status === 403) return 'upstream_auth_failed';
  if (status === 408 || status === 504) return 'upstream_timeout';
  if (status === 429) return 'upstream_rate_limited';
  if (status === 503 || status === 529) return 'upstream_overloaded';
  return status >= 400 && status < 500 ? 'upstream_rejected' : 'upstream_error';
}

function codeOfType(type: string | null): ErrorCode {
  if (type === 'overloaded_error') return 'upstream_overloaded';
  if (type === 'rate_limit_error' || type === 'rate_limit_exceeded') return 'upstream_rate_limited';
  if (type === 'authentication_error' || type === 'permission_error') return 'upstream_auth_failed';
  if (type === ERRORS.upstream_rejected.type) return 'upstream_rejected';
  return 'upstream_error';
}

/** In OpenAI's order. */
const FIELDS = { message: '', type: null, param: null, code: null } as const;

/** `raw` where the error in it has all fields of OpenAI's object; else the same object with those that were missing from `error`. */
function completed({ whole, inner }: OpenAiShape, raw: Buffer, { type, code }: GatewayError): Buffer {
  const hasType = typeof inner['type'] === 'string' && inner['type'] !== '';
  if (hasType && inner['param'] !== undefined && inner['code'] !== undefined) return raw;
  const full = {
    ...FIELDS,
    ...inner,
    type: hasType ? inner['type'] : type,
    param: inner['param'] ?? null,
    code: inner['code'] ?? code,
  };
  return Buffer.from(JSON.stringify({ ...whole, error: full }));
}

/** Parts of a list of details that are told. */
const MAX_DETAILS = 5;

/** Reads the shapes in use: OpenAI's, Anthropic's, `{"error": "…"}`, vLLM's flat one and FastAPI's `detail`. */
function tell(json: { readonly [key: string]: Json } | null): Told {
  if (json === null) return { message: null, type: null, param: null, openAi: null };
  const inner = json['error'];
  const from = isObject(inner) ? inner : json;
  const text = from['message'] ?? (typeof inner === 'string' ? inner : detailText(json['detail']));
  return {
    message: typeof text === 'string' && text !== '' ? text.slice(0, MAX_MESSAGE) : null,
    type: isObject(inner) || json['object'] === 'error' ? name(from['type']) : null,
    param: name(from['param']),
    openAi: isObject(inner) && typeof inner['message'] === 'string' ? { whole: json, inner } : null,
  };
}

/** FastAPI's word on a request that does not validate: `[{loc: ['body', 'n'], msg: 'too large'}, …]`. */
function detailText(detail: Json | undefined): Json | undefined {
  if (!Array.isArray(detail)) return detail;
  const parts = detail.slice(0, MAX_DETAILS).map((item) => {
    if (!isObject(item) || typeof item['msg'] !== 'string') return '';
    const where = Array.isArray(item['loc']) ? item['loc'].filter((step) => step !== 'body').join('.') : '';
    return where === '' ? item['msg'] : `${where}: ${item['msg']}`;
  });
  return parts.filter((part) => part !== '').join('; ');
}

function name(value: Json | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value.slice(0, MAX_NAME) : null;
}
