import { createHash } from 'node:crypto';
import type { LimitLine, LimitWindow } from '../../core/limit.ts';

/** Names of everything that is kept in Redis. All keys of one tenant carry one hash tag and so lie in one slot. */
export interface Keys {
  readonly operation: (tenant: string, operation: string) => string;
  /** What `operation` puts in front of the encoded operation, for scripts that know only its name. */
  readonly operations: (tenant: string) => string;
  /** Sorted set of open reservations: member = operation, score = end of the lease. */
  readonly leases: (tenant: string) => string;
  /** Stream of ledger events. */
  readonly ledger: (tenant: string) => string;
  /** How many events were ever booked; scripts make its name from that of the ledger. */
  readonly ledgerCount: (tenant: string) => string;
  /** Hash of a sliding window, or what a calendar counter's key starts with. */
  readonly counter: (tenant: string, line: LimitLine) => string;
  /** What the keys of the sums of spending start with: then `h:` or `d:` or `top:`, and unix seconds. */
  readonly sums: (tenant: string) => string;
  readonly trace: (shownId: string) => string;
  /** Sorted set of tenants by last use. */
  readonly tenants: string;
  /** Sorted set of tenants by when the sweeper should look. */
  readonly due: string;
  /** What the keys of the directory start with; all of them lie in one slot. */
  readonly directory: string;
  /** Hash that tells one state of Redis from another. */
  readonly epoch: string;
  /** Written by the breaker to see whether the store takes writes. */
  readonly probe: string;
}

/** Tenants whose encoding is remembered. */
const MAX_TENANTS = 10_000;
/** Longer encodings are replaced by their hash. */
const MAX_LENGTH = 96;
const PLAIN = /^[A-Za-z0-9_.-]$/;
/** Texts that encode to themselves: `MAX_LENGTH` plain characters at most. */
const ALL_PLAIN = /^[A-Za-z0-9_.-]{1,96}$/;
const PREFIX = /^[A-Za-z0-9_.:-]*$/;
/** No text encodes to this: `~` is always followed by 64 digits. */
const INDEX = '{~}';

/**
 * Any text, lone surrogates too, as `[A-Za-z0-9_.%~-]+`, one to one (up to collisions of SHA-256): plain characters stay,
 * others become `%` and the four hex digits of their UTF-16 unit, long ones become `~` and a hash, nothing becomes `%`.
 */
export function encodeKeyPart(text: string): string {
  if (ALL_PLAIN.test(text)) return text;
  if (text === '') return '%';
  let encoded = '';
  for (let i = 0; i < text.length && encoded.length <= MAX_LENGTH; i += 1) {
    const unit = text.charAt(i);
    encoded += PLAIN.test(unit) ? unit : `%${text.charCodeAt(i).toString(16).padStart(4, '0')}`;
  }
  if (encoded.length <= MAX_LENGTH) return encoded;
  return `~${createHash('sha256').update(Buffer.from(text, 'utf16le')).digest('hex')}`;
}

/** Throws `RangeError` for a prefix that could change the slot or the form of a key. */
export function createKeys({ prefix }: { readonly prefix: string }): Keys {
  if (!PREFIX.test(prefix)) throw new RangeError(`key prefix may hold letters, digits and _ . : - only: ${prefix}`);
  const begun = new Map<string, string>();
  /** What the keys of a tenant begin with. */
  const of = (tenant: string): string => {
    const known = begun.get(tenant);
    if (known !== undefined) return known;
    const begin = `${prefix}{${encodeKeyPart(tenant)}}`;
    if (begun.size >= MAX_TENANTS) begun.clear();
    begun.set(tenant, begin);
    return begin;
  };
  return {
    operation: (tenant, operation) => `${of(tenant)}:op:${encodeKeyPart(operation)}`,
    operations: (tenant) => `${of(tenant)}:op:`,
    leases: (tenant) => `${of(tenant)}:leases`,
    ledger: (tenant) => `${of(tenant)}:ledger`,
    ledgerCount: (tenant) => `${of(tenant)}:ledger:n`,
    counter: (tenant, { scope, unit, window }) =>
      `${of(tenant)}:c:${unit}:${windowName(window)}:${encodeKeyPart(scope)}`,
    sums: (tenant) => `${of(tenant)}:s:`,
    trace: (shownId) => `${prefix}trace:${encodeKeyPart(shownId)}`,
    tenants: `${prefix}${INDEX}:tenants`,
    due: `${prefix}${INDEX}:due`,
    directory: `${prefix}${INDEX}:dir:`,
    epoch: `${prefix}${INDEX}:epoch`,
    probe: `${prefix}${INDEX}:probe`,
  };
}

function windowName(window: LimitWindow): string {
  if (window.kind === 'sliding') return `${window.seconds}s`;
  if (window.kind === 'concurrent') return 'open';
  const { unit, zone = 'UTC' } = window;
  return zone === 'UTC' ? unit : `${unit}@${encodeKeyPart(zone)}`;
}
