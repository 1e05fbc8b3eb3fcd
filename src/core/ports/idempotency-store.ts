import type { Json } from '../json.ts';

/** What a write answered, without secrets: enough to answer a repetition. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
}

/**
 * `new`: it is the caller's to do; `claim` ends it. `running`: somebody else does it right now. `other`: the key was used for
 * something else. `done`: as it was answered.
 */
export type IdempotencyVerdict =
  | { readonly kind: 'new'; readonly claim: string }
  | { readonly kind: 'running' }
  | { readonly kind: 'other' }
  | { readonly kind: 'done'; readonly answer: StoredAnswer };

/** Remembers writes by a key that their sender chose, so that a repetition does nothing again. Throws `StoreUnavailable`. */
export interface IdempotencyStore {
  /** Claims `key` for `leaseMs` unless it is known. `fingerprint` tells what is to be done: equal for a true repetition. */
  begin(request: {
    readonly key: string;
    readonly fingerprint: string;
    readonly leaseMs: number;
  }): Promise<IdempotencyVerdict>;
  /** Keeps the answer for `keepMs`. */
  finish(request: {
    readonly key: string;
    readonly fingerprint: string;
    readonly answer: StoredAnswer;
    readonly keepMs: number;
  }): Promise<void>;
  /** Nothing was done: the key is free again, if the claim still stands. */
  release(request: { readonly key: string; readonly claim: string }): Promise<void>;
}
