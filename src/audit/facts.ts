import type { AuditEntry } from '../core/ports/audit.ts';
import type { Json } from '../core/json.ts';
import { canonicalJson } from '../lib/jcs/canonical-json.ts';
import { MAX_BODY, sha256 } from './frame.ts';

type Facts = AuditEntry['facts'];

/** What is left of a record for chain, hash and the rest. */
const MAX_FACTS = MAX_BODY - 1024;
/** Kept of facts that are too large, where they are short texts: who and which. */
const IDENTIFIERS = ['id', 'request_id', 'tenant', 'subject', 'model', 'requested_model', 'event'] as const;
const MAX_IDENTIFIER = 512;
/** Kept whole, where it is of a sane size: what a lost ledger is made from again. */
const ACCOUNTS = ['booking', 'store_epoch', 'store_at'] as const;
const MAX_ACCOUNT = 64 * 1024;
const LONE_SURROGATE = /[\ud800-\udfff]/gu;

/**
 * Facts as canonical JSON; never throws. What has no JSON form is replaced (U+FFFD, null) and `audit_mended` says so. Facts
 * beyond the bound are replaced by their size and hash, and by what tells whose they are.
 */
export function writeFacts(facts: Facts): string {
  let text: string;
  try {
    text = canonicalJson(facts);
  } catch {
    text = canonicalJson({ ...(mend(facts, 0) as Facts), audit_mended: true });
  }
  const bytes = text.length > MAX_FACTS / 3 ? Buffer.byteLength(text) : 0;
  if (bytes <= MAX_FACTS) return text;
  const kept: Record<string, Json> = Object.fromEntries(
    IDENTIFIERS.flatMap((key) => {
      const value = facts[key];
      return typeof value === 'string' && value.length <= MAX_IDENTIFIER ? [[key, mend(value, 0)]] : [];
    }),
  );
  for (const key of ACCOUNTS) {
    const value = mend(facts[key], 0);
    if (value !== null && canonicalJson(value).length <= MAX_ACCOUNT) kept[key] = value;
  }
  return canonicalJson({ ...kept, audit_too_large: { bytes, sha256: sha256(text) } });
}

function mend(value: unknown, depth: number): Json {
  if (typeof value === 'string') return value.replaceAll(LONE_SURROGATE, '\ufffd');
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value !== 'object' || value === null || depth > 100) return null;
  if (Array.isArray(value)) return value.map((item) => mend(item, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [mend(key, 0), mend(item, depth + 1)]));
}
