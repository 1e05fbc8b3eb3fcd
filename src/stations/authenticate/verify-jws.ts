import { createHmac, timingSafeEqual } from 'node:crypto';
import { compactVerify } from 'jose';
import type { MaybePromise } from '../../core/maybe-promise.ts';
import type { JwtAlgorithm } from '../../core/snapshot.ts';
import type { JwsForm } from './jws-form.ts';
import type { VerifyKey } from './key-set.ts';

/** Of RFC 7518 section 3.2, by their hashes. */
const HMACS: ReadonlyMap<JwtAlgorithm, string> = new Map([
  ['HS256', 'sha256'],
  ['HS384', 'sha384'],
  ['HS512', 'sha512'],
]);

/** The longest `kid` that is looked up. */
const MAX_KID = 256;

/**
 * What became of a look-up: `unavailable` when the source has no keys that may be believed. `epoch` names the keys among
 * which this one was found.
 */
export type KeyLookup =
  | { readonly kind: 'key'; readonly key: VerifyKey; readonly epoch: number }
  | { readonly kind: 'none' }
  | { readonly kind: 'unavailable' };

export interface VerifyJwsOptions {
  readonly token: string;
  /** The same token taken apart. */
  readonly form: JwsForm;
  /** What the issuer may sign with. */
  readonly allowed: readonly JwtAlgorithm[];
  readonly find: (kid: string | null, algorithm: JwtAlgorithm) => MaybePromise<KeyLookup>;
}

interface Request {
  readonly algorithm: JwtAlgorithm;
  readonly kid: string | null;
}

/**
 * `jku`, `jwk`, `x5u` and `x5c` are never read (RFC 8725 section 3.10); `crit` and `b64` change what a token means, and no
 * extension is known here. Null = refused.
 */
function readHeader(form: JwsForm, allowed: readonly JwtAlgorithm[]): Request | null {
  const { alg, kid, crit, b64 } = form.header as { alg?: unknown; kid?: unknown; crit?: unknown; b64?: unknown };
  if (crit !== undefined || b64 !== undefined) return null;
  const algorithm = allowed.find((name) => name === alg);
  if (algorithm === undefined) return null;
  if (kid === undefined) return { algorithm, kid: null };
  return typeof kid === 'string' && kid.length <= MAX_KID ? { algorithm, kid } : null;
}

/** A few microseconds of hashing: a turn through the thread pool, as the library takes it, costs more than that. */
function hmacHolds(token: string, hash: string, secret: Uint8Array): boolean {
  const dot = token.lastIndexOf('.');
  const expected = createHmac(hash, secret).update(token.slice(0, dot)).digest();
  const given = Buffer.from(token.slice(dot + 1), 'base64url');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/**
 * Does the signature hold, by an algorithm that the issuer may use and a key of the issuer that fits it? The token chooses
 * among what is allowed and never adds to it. Never throws.
 */
export async function verifyJws(options: VerifyJwsOptions): Promise<'valid' | 'invalid' | 'unavailable'> {
  const request = readHeader(options.form, options.allowed);
  if (request === null) return 'invalid';
  const found = await options.find(request.kid, request.algorithm);
  if (found.kind === 'unavailable') return 'unavailable';
  if (found.kind === 'none' || !found.key.algorithms.includes(request.algorithm)) return 'invalid';
  const hash = HMACS.get(request.algorithm);
  if (hash !== undefined) {
    const { key } = found.key;
    return key instanceof Uint8Array && hmacHolds(options.token, hash, key) ? 'valid' : 'invalid';
  }
  try {
    await compactVerify(options.token, found.key.key, { algorithms: [request.algorithm] });
    return 'valid';
  } catch {
    return 'invalid';
  }
}
