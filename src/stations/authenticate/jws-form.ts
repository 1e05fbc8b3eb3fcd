import { Buffer } from 'node:buffer';

/** The JOSE header of a token, own keys only. */
export type JoseHeader = Readonly<Record<string, unknown>>;

/** A token taken apart, nothing of it verified. */
export interface JwsForm {
  readonly header: JoseHeader;
  /** The payload's bytes. */
  readonly payload: Buffer;
}

const PART = /^[A-Za-z0-9_-]+$/;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Bytes of one part, or null when another text would give the same bytes (padding, stray bits, other alphabets). */
function canonical(part: string): Buffer | null {
  if (!PART.test(part)) return null;
  const bytes = Buffer.from(part, 'base64url');
  return bytes.toString('base64url') === part ? bytes : null;
}

/** A JSON object from UTF-8 bytes, or null. Keys such as `__proto__` become plain keys of an object without prototype. */
export function parseObject(bytes: Uint8Array): JoseHeader | null {
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes));
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    return Object.assign(Object.create(null) as Record<string, unknown>, value);
  } catch {
    return null;
  }
}

/**
 * Takes a JWS in compact form apart (RFC 7515 section 3.1), by the strictest reading: three non-empty parts of canonical
 * base64url. One token, one spelling: what is hashed for the cache is what is verified.
 */
export function splitJws(token: string): JwsForm | null {
  const parts = token.split('.', 4);
  const [first, second, third] = parts;
  if (parts.length !== 3 || first === undefined || second === undefined || third === undefined) return null;
  const headerBytes = canonical(first);
  const payload = canonical(second);
  if (headerBytes === null || payload === null || canonical(third) === null) return null;
  const header = parseObject(headerBytes);
  return header === null ? null : { header, payload };
}
