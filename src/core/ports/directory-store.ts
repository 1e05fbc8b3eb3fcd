import type { DirectoryKind, DirectoryRecord } from '../directory.ts';

/** One record of a kind. */
export type RecordOf<K extends DirectoryKind> = Extract<DirectoryRecord, { readonly kind: K }>;

/** `stale`: somebody wrote in between, or the record is there (or not) against what was expected. */
export type WriteResult<K extends DirectoryKind> =
  | { readonly kind: 'written'; readonly record: RecordOf<K> }
  | { readonly kind: 'stale'; readonly current: RecordOf<K> | null };

/**
 * Keys, tenants, business lines, budgets, stages of deployments and the roll-out, as operators manage them. Records are named
 * by `id`: a key's, budget's or deployment's id, a tenant's name, `<tenant>/<line>`. Throws `StoreUnavailable`.
 */
export interface DirectoryStore {
  get<K extends DirectoryKind>(kind: K, id: string): Promise<RecordOf<K> | null>;
  /** The key whose secret, or whose previous secret, has this SHA-256 (hex). */
  keyBySecret(sha256: string): Promise<RecordOf<'key'> | null>;
  /** In order of id, from the one after `after`; at most `count`. `tenant`: only that tenant's. */
  list<K extends DirectoryKind>(
    kind: K,
    options: { readonly after: string | null; readonly count: number; readonly tenant?: string },
  ): Promise<readonly RecordOf<K>[]>;
  /** Writes when the stored version is `expected` (0 = must not exist); the store sets version and times. */
  put<K extends DirectoryKind>(
    kind: K,
    id: string,
    record: Omit<RecordOf<K>, 'kind' | 'version' | 'createdAt' | 'updatedAt'>,
    expected: number,
  ): Promise<WriteResult<K>>;
  remove<K extends DirectoryKind>(kind: K, id: string, expected: number): Promise<WriteResult<K>>;
  /** Calls back within a second after any write by anyone, with what was written; `all` after a gap in what was heard. */
  watch(onChange: (change: { readonly kind: DirectoryKind; readonly id: string } | 'all') => void): { close(): void };
}
