import type { DirectoryKind } from '../../core/directory.ts';
import type { DirectoryStore } from '../../core/ports/directory-store.ts';
import type { RedisClient } from './connection.ts';

type OnChange = Parameters<DirectoryStore['watch']>[0];

export interface DirectoryChanges {
  readonly watch: DirectoryStore['watch'];
  readonly close: () => void;
}

const MESSAGE = /^(\d+) (key|tenant|line|budget) ([^]+)$/;

export interface DirectoryChangesOptions {
  readonly connect: () => RedisClient;
  /** The number of writes so far. Rejects while the store is away. */
  readonly countWrites: () => Promise<number>;
  readonly channel: string;
  readonly pollMs?: number;
  /** A message may be on its way for this long after its write was counted. */
  readonly graceMs?: number;
}

/**
 * Hears of writes by pub/sub, on a connection of its own that is there while somebody watches. Messages are numbered; the number
 * of writes is also polled, so that a message that never came is noticed: then all may have changed. Starts with `all`.
 */
export function createDirectoryChanges(options: DirectoryChangesOptions): DirectoryChanges {
  const watchers = new Set<{ readonly onChange: OnChange }>();
  let ear: Ear | null = null;
  const end = (): void => {
    ear?.close();
    ear = null;
  };

  return {
    watch: (onChange) => {
      const watcher = { onChange };
      watchers.add(watcher);
      // Who comes later knows nothing of what was told before.
      if (ear?.hasStarted() === true) setImmediate(() => watchers.has(watcher) && onChange('all'));
      ear ??= listen({
        ...options,
        tell: (change) => {
          for (const one of watchers) one.onChange(change);
        },
      });
      return {
        close: () => {
          watchers.delete(watcher);
          if (watchers.size === 0) end();
        },
      };
    },
    close: () => {
      watchers.clear();
      end();
    },
  };
}

interface Ear {
  /** Whether anything was told. */
  readonly hasStarted: () => boolean;
  readonly close: () => void;
}

function listen({
  connect,
  countWrites,
  channel,
  tell,
  pollMs = 500,
  graceMs = 100,
}: DirectoryChangesOptions & { readonly tell: OnChange }): Ear {
  const count = createWriteCount(tell);
  let polling = false;
  let first = true;

  const poll = async (): Promise<void> => {
    if (polling) return;
    polling = true;
    try {
      const before = count.seen();
      const writes = await countWrites();
      if (count.poll(writes, before) === 'ahead') setTimeout(() => count.miss(writes), graceMs).unref();
    } catch {
      // The next poll sees what was missed.
    } finally {
      polling = false;
    }
  };

  const client = connect();
  client.on('message', (_channel: string, text: string) => count.hear(text));
  client.on('ready', () => {
    // After a failover the count alone may not show what was lost.
    if (!first) count.forget();
    first = false;
    client.subscribe(channel).then(poll, () => {});
  });
  const timer = setInterval(() => void poll(), pollMs);
  timer.unref();
  void poll();
  return {
    hasStarted: () => count.seen() !== null,
    close: () => {
      clearInterval(timer);
      client.disconnect();
    },
  };
}

/** How many writes were told of; what is missing in between makes `all`. */
function createWriteCount(tell: OnChange) {
  let seen: number | null = null;
  const all = (now: number): void => {
    seen = now;
    tell('all');
  };

  return {
    seen: (): number | null => seen,
    forget: (): void => {
      seen = null;
    },
    hear: (text: string): void => {
      const [, number, kind, id] = MESSAGE.exec(text) ?? [];
      if (number === undefined || id === undefined) return;
      const writes = Number(number);
      if (seen === null || writes > seen + 1) return all(writes);
      // Told already, by a poll.
      if (writes <= seen) return;
      seen = writes;
      tell({ kind: kind as DirectoryKind, id });
    },
    /** `before`: what was seen when the question was asked. */
    poll: (writes: number, before: number | null): 'even' | 'ahead' => {
      // Fewer than before: the store went back to an older state.
      if (before === null || writes < before) all(writes);
      return seen !== null && writes > seen ? 'ahead' : 'even';
    },
    /** Of so many writes no message came in time. */
    miss: (writes: number): void => {
      if (seen !== null && writes > seen) all(writes);
    },
  };
}
