import type { ClientDialect } from '../../core/dialect.ts';
import type { GatewayError } from '../../core/error.ts';
import { headerValue } from '../../core/header-value.ts';
import type { HeaderPair, LocalResponse } from '../../core/http.ts';
import { redact } from './redact.ts';

/** Longest piece of an upstream's own words that goes into `x-original-error`. */
const MAX_ORIGINAL = 256;

/** The one place where an error becomes an answer. `raw` is an upstream's own OpenAI-shaped body, in the place of ours. */
export function errorResponse(
  dialect: ClientDialect,
  error: GatewayError,
  headers: readonly HeaderPair[],
  raw?: Buffer,
): LocalResponse {
  return {
    status: error.status,
    headers: [['content-type', 'application/json'], ...headers, ...errorHeaders(error)],
    body: raw ?? dialect.error(error),
    details: error.code,
  };
}

/** The headers that tell of an error, for answers whose head is not ours to make. */
export function errorHeaders(error: GatewayError): HeaderPair[] {
  const headers: HeaderPair[] = [['x-error-source', error.source], ...error.headers];
  const has = (name: string): boolean => error.headers.some(([given]) => given === name);
  if (error.retryAfterMs !== null && !has('retry-after')) {
    headers.push(['retry-after', String(Math.max(1, Math.ceil(error.retryAfterMs / 1000)))]);
  }
  if (error.code === 'upstream_timeout') headers.push(['x-timeout-reason', 'upstream_timeout']);
  if (error.original !== null) {
    headers.push(['x-original-error', headerValue(redact(error.original).slice(0, MAX_ORIGINAL))]);
  }
  return headers;
}
