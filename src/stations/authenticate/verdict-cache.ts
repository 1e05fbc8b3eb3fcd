import { hash } from 'node:crypto';
import type { Clock } from '../../core/ports/clock.ts';
import { Lru } from '../../lib/lru/lru.ts';
import type { Accepted, Refused, Verdict } from './verdict.ts';

/** How long a refusal is remembered at most: a key may be published a moment after its first token. */
export const REFUSAL_TTL_MS = 5000;
const MAX_REFUSALS = 10_000;

export interface VerdictCacheOptions {
  readonly entries: number;
  readonly ttlMs: number;
  readonly clock: Clock;
}

interface Entry<V> {
  readonly verdict: V;
  /** On the monotonic clock. */
  readonly until: number;
}

/**
 * Names a token in the cache: SHA-256 over the whole of it, after the configuration's generation and the kind of
 * credential. The issuer is part of the token, and which issuer is believed is part of the generation.
 */
export function verdictKey(generation: number, kind: string, token: string): string {
  return hash('sha256', `${generation}\n${kind}\n${token}`, 'base64');
}

/**
 * Remembers verdicts. Refusals have a room of their own, so that a flood of random tokens pushes out no good one. What
 * could not be checked is not remembered.
 */
export class VerdictCache {
  readonly #options: VerdictCacheOptions;
  readonly #accepted: Lru<string, Entry<Accepted>>;
  readonly #refused: Lru<string, Entry<Refused>>;

  constructor(options: VerdictCacheOptions) {
    this.#options = options;
    this.#accepted = new Lru(options.entries);
    this.#refused = new Lru(Math.min(options.entries, MAX_REFUSALS));
  }

  /** Entries of each room, for tests and figures. */
  get sizes(): { readonly accepted: number; readonly refused: number } {
    return { accepted: this.#accepted.size, refused: this.#refused.size };
  }

  get(key: string): Accepted | Refused | undefined {
    const { clock } = this.#options;
    const good = this.#accepted.get(key);
    if (good !== undefined) {
      const { keys, expiresAt } = good.verdict;
      // A changed, too old or unrefreshed key set takes every verdict with it that it gave.
      const believed = keys === null || keys.source.epoch() === keys.epoch;
      if (believed && clock.now() < good.until && clock.time() < expiresAt) return good.verdict;
      this.#accepted.delete(key);
    }
    const bad = this.#refused.get(key);
    if (bad === undefined) return undefined;
    if (clock.now() < bad.until) return bad.verdict;
    this.#refused.delete(key);
    return undefined;
  }

  set(key: string, verdict: Verdict): void {
    const { clock, ttlMs } = this.#options;
    const now = clock.now();
    switch (verdict.kind) {
      case 'accepted':
        this.#accepted.set(key, { verdict, until: now + ttlMs });
        break;
      case 'refused':
        this.#refused.set(key, { verdict, until: now + Math.min(ttlMs, REFUSAL_TTL_MS) });
        break;
      case 'unavailable':
        break;
    }
  }
}
