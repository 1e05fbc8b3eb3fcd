import type { LimitLine } from '../../core/limit.ts';
import type { Issuer } from '../../core/snapshot.ts';

/** Claims of a verified token, own keys only. */
export type Claims = Readonly<Record<string, unknown>>;

/** What a token says of its bearer. `null` = not said. */
export interface Grant {
  readonly subject: string;
  readonly tenant: string;
  readonly models: readonly string[];
  readonly scopes: readonly string[];
  readonly tier: string | null;
  readonly businessLine: string | null;
  readonly quotaDaily: number | null;
}

/** How deep claims may be nested. */
const MAX_DEPTH = 32;
/** The year 10000: a later `exp` is a mistake or an attack on arithmetic. */
const MAX_SECONDS = 253_402_300_800;
const TENANT = /^[A-Za-z0-9._-]{1,128}$/;
const WORD = /^[\x21-\x7e]{1,64}$/;
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;
const MAX_SUBJECT = 256;

function own(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}

/** A NumericDate of whole seconds. */
function seconds(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) < MAX_SECONDS;
}

/** `undefined` for what is neither absent nor a list of strings. */
function list(value: unknown, separator: RegExp): readonly string[] | undefined {
  if (value === undefined) return [];
  if (typeof value === 'string') return value.split(separator).filter((item) => item !== '');
  if (!Array.isArray(value)) return undefined;
  return value.every((item): item is string => typeof item === 'string' && item !== '') ? value : undefined;
}

function word(value: unknown): string | null | undefined {
  if (value === undefined) return null;
  return typeof value === 'string' && WORD.test(value) ? value : undefined;
}

/** Freezes all of it. False when nested too deep. */
function freeze(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (depth >= MAX_DEPTH) return false;
  Object.freeze(value);
  return Object.values(value).every((item) => freeze(item, depth + 1));
}

/** Is one of `expected` an exact member of `aud` (RFC 7519 section 4.1.3)? A list with anything but strings is refused. */
function audienceHolds(aud: unknown, expected: readonly string[]): boolean {
  if (expected.length === 0) return true;
  const members: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  const texts = members.filter((member) => typeof member === 'string');
  return texts.length === members.length && texts.some((text) => expected.includes(text));
}

/**
 * Claims and types that only ID, refresh and logout tokens have: those name somebody but allow nothing
 * (RFC 9068 section 5, RFC 8725 section 3.11).
 */
function notForAccess(claims: Claims): boolean {
  if (['nonce', 'at_hash', 'c_hash', 's_hash', 'events'].some((name) => Object.hasOwn(claims, name))) return true;
  const kind = own(claims, 'token_use') ?? own(claims, 'typ');
  return typeof kind === 'string' && ['id', 'refresh', 'offline', 'logout'].includes(kind.toLowerCase());
}

const ACCESS_TYPES: readonly string[] = ['jwt', 'at+jwt'];

/** Is the header's `typ` as the issuer's rule says? */
export function typeHolds(typ: unknown, rule: string | null): boolean {
  if (typ === undefined) return rule === null;
  if (typeof typ !== 'string') return false;
  const name = typ.toLowerCase().replace(/^application\//, '');
  return rule === null ? ACCESS_TYPES.includes(name) : name === rule;
}

/**
 * Checks the claims of a token whose signature holds. `expired` only when nothing else is wrong with it.
 * @param now - Unix milliseconds.
 */
export function checkClaims(
  claims: Claims,
  issuer: Issuer,
  { now, skewMs }: { readonly now: number; readonly skewMs: number },
): 'good' | 'expired' | 'invalid' {
  const nbf = own(claims, 'nbf');
  const iat = own(claims, 'iat');
  const exp = own(claims, 'exp');
  if (!freeze(claims) || own(claims, 'iss') !== issuer.issuer) return 'invalid';
  if (!audienceHolds(own(claims, 'aud'), issuer.audience)) return 'invalid';
  if (issuer.typ === null && notForAccess(claims)) return 'invalid';
  if (iat !== undefined && !seconds(iat)) return 'invalid';
  if (nbf !== undefined && (!seconds(nbf) || nbf * 1000 > now + skewMs)) return 'invalid';
  if (!seconds(exp)) return 'invalid';
  return exp * 1000 <= now - skewMs ? 'expired' : 'good';
}

/** Reads the grant by the issuer's claim names. Null when a claim is missing that must be there, or is not what it should be. */
export function readGrant(claims: Claims, issuer: Issuer): Grant | null {
  const names = issuer.claims;
  const subject = own(claims, 'sub');
  const tenant = own(claims, names.tenant);
  if (typeof subject !== 'string' || subject === '' || subject.length > MAX_SUBJECT || CONTROL.test(subject))
    return null;
  if (typeof tenant !== 'string' || !TENANT.test(tenant)) return null;
  const models = list(own(claims, names.models), /[\s,]+/);
  const scopes = list(own(claims, names.scope), /\s+/);
  const tier = word(own(claims, names.tier));
  const businessLine = word(own(claims, names.businessLine));
  if (models === undefined || scopes === undefined || tier === undefined || businessLine === undefined) return null;
  const quota = own(claims, names.quotaDaily);
  if (quota !== undefined && (!Number.isSafeInteger(quota) || Number(quota) < 0)) return null;
  const quotaDaily = quota === undefined ? null : Number(quota);
  return { subject, tenant, models, scopes, tier, businessLine, quotaDaily };
}

/** The limit that a credential brings itself: tokens of its subject a UTC day. */
export function quotaLines(subject: string, quotaDaily: number | null): readonly LimitLine[] {
  if (quotaDaily === null) return [];
  const window = { kind: 'calendar', unit: 'day' } as const;
  return [{ scope: `subject:${subject}`, unit: 'tokens', window, limit: quotaDaily }];
}
