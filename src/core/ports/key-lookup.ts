import type { KeyRecord } from '../directory.ts';
import type { MaybePromise } from '../maybe-promise.ts';

/** Finds keys of the directory by what a client holds. */
export interface KeyLookup {
  /**
   * The key whose secret, or whose previous secret, has this SHA-256 (hex): revoked and expired ones, too. At once for what
   * is known here; a write by anyone shows within a second. Rejects with `StoreUnavailable` when nothing is known of it.
   */
  find(sha256: string): MaybePromise<KeyRecord | null>;
}
