import type { RecordOf } from '../core/ports/directory-store.ts';
import { Lru } from '../lib/lru/lru.ts';

/** What the store said of a secret. */
export interface CachedKey {
  /** null: it opens nothing. */
  readonly record: RecordOf<'key'> | null;
  /** When it was asked, monotonic ms. */
  readonly at: number;
  /** Something may have changed since: to be asked again before it is served. */
  readonly doubted: boolean;
}

export interface KeyCache {
  readonly get: (sha256: string) => CachedKey | undefined;
  readonly set: (sha256: string, entry: CachedKey) => void;
  /** A key was written: what is known of it is void, and so is what was said of secrets that opened nothing. */
  readonly drop: (id: string) => void;
  /** Anything may have changed. */
  readonly doubt: () => void;
  readonly size: () => { readonly keys: number; readonly misses: number };
  readonly clear: () => void;
}

/** Bounded; forgets what was used longest ago. Keys and misses have a bound each. Every call but `doubt` is O(1). */
export function createKeyCache({ maxEntries }: { readonly maxEntries: number }): KeyCache {
  const keys = new Map<string, CachedKey & { readonly record: RecordOf<'key'> }>();
  const secretsOf = new Map<string, Set<string>>();
  const misses = new Lru<string, CachedKey>(maxEntries);

  function remove(sha256: string): void {
    const entry = keys.get(sha256);
    if (entry === undefined) return;
    keys.delete(sha256);
    const secrets = secretsOf.get(entry.record.id);
    secrets?.delete(sha256);
    if (secrets?.size === 0) secretsOf.delete(entry.record.id);
  }

  return {
    get: (sha256) => {
      const entry = keys.get(sha256);
      if (entry === undefined) return misses.get(sha256);
      keys.delete(sha256);
      keys.set(sha256, entry);
      return entry;
    },
    set: (sha256, { record, at, doubted }) => {
      remove(sha256);
      misses.delete(sha256);
      if (record === null) return misses.set(sha256, { record, at, doubted });
      if (maxEntries === 0) return;
      const oldest = keys.size >= maxEntries ? keys.keys().next() : null;
      if (oldest !== null && oldest.done !== true) remove(oldest.value);
      keys.set(sha256, { record, at, doubted });
      const secrets = secretsOf.get(record.id) ?? new Set();
      secretsOf.set(record.id, secrets.add(sha256));
    },
    drop: (id) => {
      for (const sha256 of secretsOf.get(id) ?? []) remove(sha256);
      misses.clear();
    },
    doubt: () => {
      for (const [sha256, entry] of keys) keys.set(sha256, { ...entry, doubted: true });
      misses.clear();
    },
    size: () => ({ keys: keys.size, misses: misses.size }),
    clear: () => {
      keys.clear();
      secretsOf.clear();
      misses.clear();
    },
  };
}
