import type { RateShareStore, RateWish } from '../../core/ports/rate-shares.ts';

export interface FollowSharesOptions {
  /** What is wanted of each rate. Looking begins a new count. */
  readonly wishes: () => readonly RateWish[];
  /** New shares, in the order of the wishes. */
  readonly grant: (shares: readonly number[]) => void;
  /** Null: nobody to share with, and each goes by its own part. */
  readonly store: RateShareStore | null;
  /** Names this process among all of all times. */
  readonly holder: string;
}

/**
 * Keeps this process's shares of rates. While the store is away the last shares go on: nobody can be given more then, so they
 * still add up to no more than the rate.
 */
export function followShares({ wishes, grant, store, holder }: FollowSharesOptions): {
  /** One round; to be called twice a second. Never rejects. */
  readonly renew: () => Promise<void>;
  readonly close: () => Promise<void>;
} {
  let names: readonly string[] = [];
  let asking = false;
  return {
    async renew() {
      if (asking) return;
      asking = true;
      try {
        const wanted = wishes();
        const gone = names.filter((name) => wanted.every((wish) => wish.name !== name));
        names = wanted.map(({ name }) => name);
        if (store === null) grant(wanted.map(({ held }) => held));
        else if (wanted.length > 0) grant(await store.renew(holder, wanted));
        if (gone.length > 0) await store?.leave(holder, gone);
      } catch {
        // The store says itself when it is gone.
      } finally {
        asking = false;
      }
    },
    async close() {
      if (names.length > 0) await store?.leave(holder, names).catch(() => {});
    },
  };
}
