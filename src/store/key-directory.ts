import type { MaybePromise } from '../core/maybe-promise.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { DirectoryStore, RecordOf } from '../core/ports/directory-store.ts';
import { StoreUnavailable } from '../core/ports/quota-store.ts';
import type { Log } from '../core/ports/telemetry.ts';
import { createKeyCache } from './key-cache.ts';
import type { CachedKey } from './key-cache.ts';

type Key = RecordOf<'key'>;

/** Keys by the SHA-256 of their secret, close at hand. Whether a key is revoked or expired is for the caller to read. */
export interface KeyDirectory {
  /** At once for a secret that was asked for within `ttlMs`. Throws (or rejects with) `StoreUnavailable`. */
  readonly find: (sha256: string) => MaybePromise<Key | null>;
  /** Entries held: keys, and secrets that open nothing. */
  readonly size: () => { readonly keys: number; readonly misses: number };
  readonly close: () => void;
}

export interface KeyDirectoryOptions {
  readonly store: Pick<DirectoryStore, 'keyBySecret' | 'watch'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Pick<Log, 'warn' | 'info'>;
  /** Keys kept, and secrets that open nothing: as many of each, so that guesses drive no key out. */
  readonly maxEntries?: number;
  /** No answer of a store that answers is older. */
  readonly ttlMs?: number;
  /** How old a key may be while the store does not answer. */
  readonly staleMs?: number;
}

/**
 * A cache in front of the directory. In the second half of `ttlMs` a key is served and asked for again; after it the store must
 * answer first. A change that the store tells of drops the key at once. Without the store, keys that are known go on to open until
 * `staleMs`; a secret that is not known is then neither right nor wrong: `StoreUnavailable`.
 */
export function createKeyDirectory({
  store,
  clock,
  log,
  maxEntries = 10_000,
  ttlMs = 1000,
  staleMs = 60_000,
}: KeyDirectoryOptions): KeyDirectory {
  const cache = createKeyCache({ maxEntries });
  const asking = new Map<string, Promise<Key | null>>();
  /** Counts what was dropped: an answer that was on its way meanwhile may be older than the change. */
  let changes = 0;
  let away = false;

  const watching = store.watch((change) => {
    if (change === 'all') cache.doubt();
    else if (change.kind === 'key') cache.drop(change.id);
    else return;
    // Who asks from now on must not get the answer to an older question.
    asking.clear();
    changes += 1;
  });

  const note = (isAway: boolean): void => {
    if (away === isAway) return;
    away = isAway;
    if (isAway) log.warn('keys are served from memory: the store does not answer', { staleMs });
    else log.info('keys are read from the store again');
  };

  async function read(sha256: string): Promise<Key | null> {
    // Counted from the question: the answer may be as old.
    const [at, before] = [clock.now(), changes];
    const record = await store.keyBySecret(sha256);
    note(false);
    if (changes === before) cache.set(sha256, { record, at, doubted: false });
    return record;
  }

  /** One question at a time for each secret. */
  function ask(sha256: string): Promise<Key | null> {
    const known = asking.get(sha256);
    if (known !== undefined) return known;
    const answer = read(sha256).finally(() => {
      if (asking.get(sha256) === answer) asking.delete(sha256);
    });
    asking.set(sha256, answer);
    return answer;
  }

  async function askOrServe(sha256: string): Promise<Key | null> {
    try {
      return await ask(sha256);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      // Read anew: a change may have dropped it meanwhile.
      const known = cache.get(sha256);
      if (known === undefined || known.record === null || clock.now() - known.at >= staleMs) throw error;
      note(true);
      return known.record;
    }
  }

  return {
    find: (sha256) => {
      const known = cache.get(sha256);
      const age = known === undefined ? Number.POSITIVE_INFINITY : ageOf(known, clock.now());
      if (known === undefined || age >= ttlMs) return askOrServe(sha256);
      if (age >= ttlMs / 2 && !asking.has(sha256)) ask(sha256).catch(() => {});
      return known.record;
    },
    size: cache.size,
    close: () => {
      watching.close();
      cache.clear();
    },
  };
}

function ageOf({ at, doubted }: CachedKey, now: number): number {
  return doubted ? Number.POSITIVE_INFINITY : now - at;
}
