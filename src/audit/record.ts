import { isCanonical } from '../lib/jcs/canonical-json.ts';
import type { AuditEntry } from '../core/ports/audit.ts';
import type { Json } from '../core/json.ts';

/** A record as it is written. */
export interface AuditRecord {
  readonly chain: string;
  readonly facts: { readonly [key: string]: Json };
  readonly kind: AuditEntry['kind'];
  /** Hash of the record before; for the first of a chain, of the last one of the chain that it follows, or zeros. */
  readonly prev: string;
  /** 1 for the first of a chain. */
  readonly seq: number;
  /** Unix milliseconds. */
  readonly time: number;
}

/** Stands where no record came before. */
export const NO_HASH = '0'.repeat(64);

/** The canonical JSON of a record whose facts are canonical JSON already. */
export function bodyOf({
  chain,
  facts,
  kind,
  prev,
  seq,
  time,
}: Omit<AuditRecord, 'facts'> & { readonly facts: string }): string {
  return `{"chain":"${chain}","facts":${facts},"kind":"${kind}","prev":"${prev}","seq":${seq},"time":${time}}`;
}

const HASH = /^[0-9a-f]{64}$/;
const KINDS: readonly unknown[] = ['request', 'admin', 'system'];
const KEYS = 'chain,facts,kind,prev,seq,time';

/** Reads a body; null when it is not the canonical form of a record. */
export function parseRecord(body: Buffer): AuditRecord | null {
  const text = body.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Object.keys(value).join() !== KEYS) return null;
    if (!isCanonical(value as { readonly [key: string]: Json }, text)) return null;
  } catch {
    return null;
  }
  const record = value as Record<keyof AuditRecord, unknown>;
  const { chain, facts, kind, prev, seq, time } = record;
  const fits =
    typeof chain === 'string' &&
    typeof facts === 'object' &&
    facts !== null &&
    !Array.isArray(facts) &&
    KINDS.includes(kind) &&
    typeof prev === 'string' &&
    HASH.test(prev) &&
    Number.isSafeInteger(seq) &&
    (seq as number) >= 1 &&
    Number.isSafeInteger(time);
  return fits ? (value as AuditRecord) : null;
}
