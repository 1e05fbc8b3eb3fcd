import { type BudgetRecord, type DeploymentRecord, type DirectoryKind, recordId } from '../../core/directory.ts';
import type { DirectoryStore } from '../../core/ports/directory-store.ts';
import type { DirectoryView } from '../../core/ports/directory-view.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import { DirectoryTables, type ViewedKind, type ViewedRecord } from './directory-tables.ts';

export interface FollowDirectoryOptions {
  readonly store: Pick<DirectoryStore, 'get' | 'list' | 'watch'>;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'anomaly'>;
  /** How long after a failure the store is asked again. */
  readonly retryMs?: number;
  /** All is read anew this often, should a word of the store have been lost. */
  readonly rereadMs?: number;
  /** Records of one kind that are kept. */
  readonly most?: number;
}

/** A directory kept fresh in the background. */
export interface FollowedDirectory {
  readonly view: DirectoryView;
  /** What was decided of a deployment; null = nothing. */
  readonly deployment: (id: string) => DeploymentRecord | null;
  /** Every budget of every tenant; null until the directory was read for the first time. */
  readonly budgets: () => readonly BudgetRecord[] | null;
  /** True when the directory was read; false when it was not within `deadlineMs`. */
  readonly ready: (deadlineMs: number) => Promise<boolean>;
  /** Calls back after every change of the view. */
  readonly onChange: (listener: () => void) => void;
  readonly close: () => void;
}

const KINDS: readonly ViewedKind[] = ['tenant', 'line', 'budget', 'deployment'];
const PAGE = 500;
/** With more single changes than this to catch up with, reading all is cheaper. */
const MOST_PENDING = 200;

function isViewed(kind: DirectoryKind): kind is ViewedKind {
  return KINDS.some((viewed) => viewed === kind);
}

/**
 * Follows the directory. One reader at a time takes up what was heard, always by reading the store's own word, so that
 * changes heard out of order or twice do no harm. While the store is gone the view stays as it was.
 */
export function followDirectory(options: FollowDirectoryOptions): FollowedDirectory {
  const follower = new Follower(options);
  return {
    view: {
      tenant: (name) => follower.tables.tenant(name),
      line: (tenant, name) => follower.tables.line(tenant, name),
      budgets: (tenant) => follower.tables.budgets(tenant),
    },
    deployment: (id) => follower.tables.deployment(id),
    budgets: () => (follower.loaded ? follower.tables.allBudgets() : null),
    ready: (deadlineMs) => (follower.loaded ? Promise.resolve(true) : waitFor(follower.waiting, deadlineMs)),
    onChange: (listener) => follower.listeners.push(listener),
    close: () => follower.close(),
  };
}

class Follower {
  readonly #store: FollowDirectoryOptions['store'];
  readonly #log: Log;
  readonly #metrics: Pick<Metrics, 'anomaly'>;
  readonly #retryMs: number;
  readonly #most: number;
  readonly listeners: (() => void)[] = [];
  readonly waiting = new Set<(ready: boolean) => void>();
  tables: DirectoryTables;
  loaded = false;
  #closed = false;
  #running = false;
  #readAll = true;
  readonly #pending = new Map<string, { readonly kind: ViewedKind; readonly id: string }>();
  #retry: NodeJS.Timeout | null = null;
  readonly #reread: NodeJS.Timeout;
  readonly #watching: { close(): void };

  constructor(options: FollowDirectoryOptions) {
    const { store, log, metrics, retryMs = 500, rereadMs = 60_000, most = 100_000 } = options;
    this.#store = store;
    this.#log = log;
    this.#metrics = metrics;
    this.#retryMs = retryMs;
    this.#most = most;
    this.tables = new DirectoryTables(most);
    this.#watching = store.watch((change) => this.#hear(change));
    this.#reread = setInterval(() => this.#hear('all'), rereadMs);
    this.#reread.unref();
    void this.#run();
  }

  close(): void {
    this.#closed = true;
    this.#watching.close();
    clearInterval(this.#reread);
    if (this.#retry !== null) clearTimeout(this.#retry);
    for (const end of this.waiting) end(this.loaded);
  }

  #hear(change: { readonly kind: DirectoryKind; readonly id: string } | 'all'): void {
    if (change === 'all' || this.#pending.size >= MOST_PENDING) {
      this.#readAll = true;
      this.#pending.clear();
    } else if (isViewed(change.kind)) {
      this.#pending.set(`${change.kind} ${change.id}`, { kind: change.kind, id: change.id });
    }
    void this.#run();
  }

  #behind(): boolean {
    return !this.#closed && (this.#readAll || this.#pending.size > 0);
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      while (this.#behind()) {
        await (this.#readAll ? this.#takeUpAll() : this.#takeUpNext());
        for (const listener of this.listeners) listener();
      }
    } catch (error) {
      this.#log.debug('directory could not be read', { error: error instanceof Error ? error : undefined });
      this.#runLater();
    } finally {
      this.#running = false;
    }
  }

  #runLater(): void {
    if (this.#closed) return;
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.#run(), this.#retryMs);
    this.#retry.unref();
  }

  async #takeUpAll(): Promise<void> {
    // What is heard from here on is read again afterwards.
    this.#readAll = false;
    try {
      const fresh = new DirectoryTables(this.#most);
      for (const kind of KINDS) if (!(await this.#load(fresh, kind))) this.#tellFull(kind);
      this.tables = fresh;
    } catch (error) {
      this.#readAll = true;
      throw error;
    }
    if (!this.loaded) this.#log.info('directory read');
    this.loaded = true;
    for (const end of this.waiting) end(true);
  }

  /** False when there was no room for all. */
  async #load(fresh: DirectoryTables, kind: ViewedKind): Promise<boolean> {
    let after: string | null = null;
    for (;;) {
      const page: readonly ViewedRecord[] = await this.#store.list(kind, { after, count: PAGE });
      for (const record of page) if (!fresh.set(record)) return false;
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return true;
      after = recordId(last);
    }
  }

  async #takeUpNext(): Promise<void> {
    for (const [name, { kind, id }] of this.#pending) {
      this.#pending.delete(name);
      try {
        const record = await this.#store.get(kind, id);
        if (record === null) this.tables.remove(kind, id);
        else if (!this.tables.set(record)) this.#tellFull(kind);
      } catch (error) {
        this.#pending.set(name, { kind, id });
        throw error;
      }
      return;
    }
  }

  #tellFull(kind: ViewedKind): void {
    this.#metrics.anomaly('directory_too_large');
    this.#log.error('the directory holds more records than are kept', { kind, kept: this.#most });
  }
}

function waitFor(waiting: Set<(ready: boolean) => void>, deadlineMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (ready: boolean): void => {
      clearTimeout(patience);
      waiting.delete(end);
      resolve(ready);
    };
    const patience = setTimeout(end, deadlineMs, false);
    waiting.add(end);
  });
}
