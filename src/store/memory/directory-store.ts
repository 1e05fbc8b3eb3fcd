import type { DirectoryKind } from '../../core/directory.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { DirectoryStore, RecordOf, WriteResult } from '../../core/ports/directory-store.ts';
import { assertId, indexOf } from '../directory-record.ts';
import type { RecordIndex } from '../directory-record.ts';
import { assertWhole } from '../whole-number.ts';

type Kept = { readonly record: RecordOf<DirectoryKind>; readonly index: RecordIndex };
type Listener = Parameters<DirectoryStore['watch']>[0];

/** `DirectoryStore` in this process: gone with it. Records are frozen as they were written. */
export function createMemoryDirectoryStore({ clock }: { readonly clock: Clock }): DirectoryStore {
  const kinds: Readonly<Record<DirectoryKind, Map<string, Kept>>> = {
    key: new Map(),
    tenant: new Map(),
    line: new Map(),
    budget: new Map(),
    deployment: new Map(),
    rollout: new Map(),
  };
  const secrets = new Map<string, string>();
  const listeners = new Set<Listener>();

  const read = <K extends DirectoryKind>(kind: K, id: string): RecordOf<K> | null =>
    (kinds[kind].get(id)?.record as RecordOf<K> | undefined) ?? null;
  const forget = (id: string, { secret, previous }: RecordIndex): void => {
    for (const hash of [secret, previous]) if (hash !== null && secrets.get(hash) === id) secrets.delete(hash);
  };
  const tell = (kind: DirectoryKind, id: string): void => {
    for (const listener of listeners) setImmediate(() => listeners.has(listener) && listener({ kind, id }));
  };

  return {
    get: async (kind, id) => read(kind, id),
    keyBySecret: async (sha256) => {
      const id = secrets.get(sha256);
      return id === undefined ? null : read('key', id);
    },
    list: async <K extends DirectoryKind>(kind: K, { after, count, tenant }: Parameters<DirectoryStore['list']>[1]) => {
      assertWhole(count, 'count');
      return [...kinds[kind]]
        .filter(
          ([id, { index }]) => (after === null || order(id, after) > 0) && (tenant ?? index.tenant) === index.tenant,
        )
        .toSorted(([a], [b]) => order(a, b))
        .slice(0, count)
        .map(([, { record }]) => record as RecordOf<K>);
    },
    put: async <K extends DirectoryKind>(
      kind: K,
      id: string,
      fields: object,
      expected: number,
    ): Promise<WriteResult<K>> => {
      assertWhole(expected, 'version');
      const index = indexOf(kind, id, fields);
      const kept = kinds[kind].get(id);
      if ((kept?.record.version ?? 0) !== expected) return { kind: 'stale', current: read(kind, id) };
      for (const hash of [index.secret, index.previous]) {
        if (hash !== null && (secrets.get(hash) ?? id) !== id)
          throw new RangeError('the secret is that of another key');
      }
      if (kept !== undefined) forget(id, kept.index);
      for (const hash of [index.secret, index.previous]) if (hash !== null) secrets.set(hash, id);
      const now = clock.time();
      const stored = { version: expected + 1, createdAt: kept?.record.createdAt ?? now, updatedAt: now };
      const record = Object.freeze({ ...structuredClone(fields), kind, ...stored }) as unknown as RecordOf<K>;
      kinds[kind].set(id, { record, index });
      tell(kind, id);
      return { kind: 'written', record };
    },
    remove: async <K extends DirectoryKind>(kind: K, id: string, expected: number): Promise<WriteResult<K>> => {
      assertWhole(expected, 'version');
      assertId(id);
      const kept = kinds[kind].get(id);
      if (kept === undefined || kept.record.version !== expected) return { kind: 'stale', current: read(kind, id) };
      forget(id, kept.index);
      kinds[kind].delete(id);
      tell(kind, id);
      return { kind: 'written', record: kept.record as RecordOf<K> };
    },
    watch: (onChange) => {
      // One of its own for each watcher, so that closing one ends only that one.
      const listener: Listener = (change) => onChange(change);
      listeners.add(listener);
      return { close: () => void listeners.delete(listener) };
    },
  };
}

/** As Redis orders members: by bytes. */
function order(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
