import type { HeaderList } from '../../core/http.ts';
import { invalidCredentials, missingCredentials } from './refusal.ts';

/** The longest token that is looked at. */
export const MAX_TOKEN_BYTES = 8192;

/** What a client sent to show who it is. */
export interface Credential {
  readonly kind: 'jwt' | 'api-key';
  readonly token: string;
}

/** Headers that hold a bare API key, looked at in this order where there is no `authorization`. */
const KEY_HEADERS = ['x-api-key', 'api-key'] as const;

/** RFC 6750 `b64token`, widened to every visible ASCII character: keys of other systems are passed on as they are. */
const VISIBLE = /^[\x21-\x7e]+$/;

/** The one value of a header; two are a dispute over who asks, and nobody shall settle it by order. */
function single(headers: HeaderList, name: string): string | undefined {
  const values = headers.all(name);
  if (values.length > 1) throw invalidCredentials();
  return values[0]?.trim();
}

function checked(token: string): string {
  if (token.length > MAX_TOKEN_BYTES || !VISIBLE.test(token)) throw invalidCredentials();
  return token;
}

function dots(token: string): number {
  return token.split('.').length - 1;
}

/**
 * Finds the credential of a request. `authorization` wins over the key headers; the scheme's case and extra spaces do not
 * matter (RFC 9110 section 11.1). Keys in the query string are not read: they end up in logs.
 * Throws `missing_credentials`, or `invalid_credentials` for what cannot be one.
 */
export function readCredential(headers: HeaderList): Credential {
  const authorization = single(headers, 'authorization');
  if (authorization !== undefined && authorization !== '') {
    const space = authorization.indexOf(' ');
    const scheme = space < 0 ? authorization : authorization.slice(0, space);
    const rest = space < 0 ? '' : authorization.slice(space + 1).trim();
    if (scheme.toLowerCase() !== 'bearer' || rest === '') throw missingCredentials();
    const token = checked(rest);
    return { kind: dots(token) === 2 ? 'jwt' : 'api-key', token };
  }
  for (const name of KEY_HEADERS) {
    const value = single(headers, name);
    if (value !== undefined && value !== '') return { kind: 'api-key', token: checked(value) };
  }
  throw missingCredentials();
}
