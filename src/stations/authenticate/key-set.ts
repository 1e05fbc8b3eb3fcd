import { createPublicKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { JwtAlgorithm } from '../../core/snapshot.ts';
import { isRoca } from './roca.ts';

/** The most keys that a set may have. */
export const MAX_KEYS = 100;

/** A key that may verify signatures of `algorithms` and of no other. */
export interface VerifyKey {
  readonly kid: string | null;
  readonly algorithms: readonly JwtAlgorithm[];
  readonly key: KeyObject | Uint8Array;
}

/** The keys of one source. */
export interface KeySet {
  readonly keys: readonly VerifyKey[];
}

type Jwk = Readonly<Record<string, unknown>>;

const RSA: readonly JwtAlgorithm[] = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
const CURVES: ReadonlyMap<string, readonly [kty: string, algorithm: JwtAlgorithm]> = new Map([
  ['P-256', ['EC', 'ES256']],
  ['P-384', ['EC', 'ES384']],
  ['P-521', ['EC', 'ES512']],
  ['Ed25519', ['OKP', 'EdDSA']],
]);
const PRIVATE = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'] as const;

function text(jwk: Jwk, name: string): string | null {
  const value = Object.hasOwn(jwk, name) ? jwk[name] : undefined;
  return typeof value === 'string' ? value : null;
}

function bigint(base64url: string | null): bigint {
  return base64url === null ? 0n : BigInt(`0x0${Buffer.from(base64url, 'base64url').toString('hex')}`);
}

function bits(value: bigint): number {
  return value === 0n ? 0 : value.toString(2).length;
}

function soundRsa(jwk: Jwk): boolean {
  const modulus = bigint(text(jwk, 'n'));
  const exponent = bigint(text(jwk, 'e'));
  const length = bits(modulus);
  // A modulus without an upper bound would make each verification as slow as its owner likes.
  if (length < 2048 || length > 8192 || modulus % 2n === 0n) return false;
  return exponent >= 65537n && exponent % 2n === 1n && bits(exponent) <= 64 && !isRoca(modulus);
}

/** What the key's own type and curve can verify, before its `alg` narrows that. */
function algorithmsOf(jwk: Jwk): readonly JwtAlgorithm[] {
  const kty = text(jwk, 'kty');
  if (kty === 'RSA') return soundRsa(jwk) ? RSA : [];
  const curve = CURVES.get(text(jwk, 'crv') ?? '');
  return curve !== undefined && curve[0] === kty ? [curve[1]] : [];
}

function forVerifying(jwk: Jwk): boolean {
  const { use, key_ops: operations } = jwk as { use?: unknown; key_ops?: unknown };
  if (use !== undefined && use !== 'sig') return false;
  return operations === undefined || (Array.isArray(operations) && operations.includes('verify'));
}

function publicPart(jwk: Jwk): Record<string, string> {
  const part: Record<string, string> = {};
  for (const name of ['kty', 'n', 'e', 'crv', 'x', 'y']) {
    const value = text(jwk, name);
    if (value !== null) part[name] = value;
  }
  return part;
}

/** A key of the set as one that we use, or null for one that is not for us or not sound. */
function readKey(jwk: Jwk): VerifyKey | null {
  if (PRIVATE.some((name) => Object.hasOwn(jwk, name)) || !forVerifying(jwk)) return null;
  if (Object.hasOwn(jwk, 'kid') && typeof jwk['kid'] !== 'string') return null;
  const possible = algorithmsOf(jwk);
  const algorithms = Object.hasOwn(jwk, 'alg') ? possible.filter((name) => name === jwk['alg']) : possible;
  if (algorithms.length === 0) return null;
  try {
    // Only the public members, by name: whatever else a set says of a key (x5u, x5c) has no say here.
    const key = createPublicKey({ key: publicPart(jwk), format: 'jwk' });
    return { kid: text(jwk, 'kid'), algorithms, key };
  } catch {
    return null;
  }
}

/**
 * Reads a JWK set (RFC 7517). Keys that are not for signatures, weak, or unknown are left out. Throws `Error` for a set
 * that is not believed at all: no usable key, too many keys, a symmetric key in it, two keys of one `kid`.
 */
export function readKeySet(json: unknown): KeySet {
  const list = typeof json === 'object' && json !== null ? (json as { keys?: unknown }).keys : undefined;
  if (!Array.isArray(list)) throw new Error('not a JWK set');
  if (list.length > MAX_KEYS) throw new Error(`more than ${MAX_KEYS} keys`);
  const jwks = list.filter((item): item is Jwk => typeof item === 'object' && item !== null && !Array.isArray(item));
  if (jwks.some((jwk) => jwk['kty'] === 'oct')) throw new Error('a symmetric key in a published set');
  const keys = jwks.flatMap((jwk) => readKey(jwk) ?? []);
  if (keys.length === 0) throw new Error('no usable key');
  const kids = keys.flatMap((key) => key.kid ?? []);
  if (new Set(kids).size !== kids.length) throw new Error('two keys of one kid');
  return { keys };
}

/** Bytes that each HS algorithm asks of its key at least (RFC 7518 section 3.2). */
const SECRET_BYTES: ReadonlyMap<JwtAlgorithm, number> = new Map([
  ['HS256', 32],
  ['HS384', 48],
  ['HS512', 64],
]);

/** A shared secret as a set of one. Throws `Error` when it is too short for every HS algorithm. */
export function secretKeySet(secret: Uint8Array): KeySet {
  const algorithms = [...SECRET_BYTES].flatMap(([name, bytes]) => (secret.length >= bytes ? name : []));
  if (algorithms.length === 0) throw new Error('the secret has fewer than 32 bytes');
  return { keys: [{ kid: null, algorithms, key: secret }] };
}

/**
 * The key that a token asks for: by `kid` where it names one, else the only one that fits the algorithm. A shared secret
 * has no name, so any `kid` means it.
 */
export function selectKey(set: KeySet, kid: string | null, algorithm: JwtAlgorithm): VerifyKey | null {
  const fit = set.keys.filter((key) => key.algorithms.includes(algorithm));
  const named = fit.filter((key) => kid === null || key.kid === kid || key.key instanceof Uint8Array);
  return named.length === 1 ? (named[0] ?? null) : null;
}
