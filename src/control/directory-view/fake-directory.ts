import { type DirectoryKind, type DirectoryRecord, recordId } from '../../core/directory.ts';
import type { DirectoryStore, RecordOf } from '../../core/ports/directory-store.ts';
import { StoreUnavailable } from '../../core/ports/quota-store.ts';

type Change = Parameters<Parameters<DirectoryStore['watch']>[0]>[0];

/** The reading side of a directory in memory, for tests: it can be gone, slow, or keep a change to itself. */
export class FakeDirectory implements Pick<DirectoryStore, 'get' | 'list' | 'watch'> {
  readonly records = new Map<string, DirectoryRecord>();
  readonly #watchers = new Set<(change: Change) => void>();
  gone = false;
  asked = 0;
  /** Runs before each answer. */
  before: () => Promise<void> = () => Promise.resolve();

  put(record: DirectoryRecord, options: { readonly silent?: boolean } = {}): void {
    this.records.set(`${record.kind} ${recordId(record)}`, record);
    if (options.silent !== true) this.tell({ kind: record.kind, id: recordId(record) });
  }

  drop(kind: DirectoryKind, id: string): void {
    this.records.delete(`${kind} ${id}`);
    this.tell({ kind, id });
  }

  tell(change: Change): void {
    for (const watcher of this.#watchers) watcher(change);
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  async #answer<T>(read: () => T): Promise<T> {
    this.asked += 1;
    if (this.gone) throw new StoreUnavailable('gone');
    const value = read();
    await this.before();
    return value;
  }

  get = <K extends DirectoryKind>(kind: K, id: string): Promise<RecordOf<K> | null> =>
    this.#answer(() => (this.records.get(`${kind} ${id}`) as RecordOf<K> | undefined) ?? null);

  list = <K extends DirectoryKind>(
    kind: K,
    { after, count }: { readonly after: string | null; readonly count: number },
  ): Promise<readonly RecordOf<K>[]> =>
    this.#answer(() =>
      [...this.records.values()]
        .filter((record): record is RecordOf<K> => record.kind === kind)
        .filter((record) => after === null || recordId(record) > after)
        .toSorted((a, b) => (recordId(a) < recordId(b) ? -1 : 1))
        .slice(0, count),
    );

  watch = (onChange: (change: Change) => void): { close(): void } => {
    this.#watchers.add(onChange);
    return { close: () => void this.#watchers.delete(onChange) };
  };
}
