import type { Warm } from '../core/warm.ts';

/** The keys of a question. */
export interface Warmth {
  /** By the group of a target; without keys being warm does not count there. */
  readonly warm: (group: string) => Warm;
  /** Likewise, a number that is the same for all that belongs together: who is equally free is chosen by it. Null = by chance. */
  readonly home: (group: string) => number | null;
}

/**
 * Which keys are warm at one target, by what was sent there: the least recently used is forgotten first. A key is a number (48
 * bits of a hash).
 */
export class WarmKeys {
  readonly #used = new Set<number>();

  get size(): number {
    return this.#used.size;
  }

  /**
   * How many keys of a chain are there. Nobody has a key without those before it, unless they were dropped since: so halving
   * finds it.
   */
  match(chain: readonly number[]): number {
    let low = 0;
    let high = chain.length;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.#used.has(chain[middle - 1] ?? NaN)) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Remembers a chain as just used, and at most `most` keys in all. */
  use(chain: readonly number[], most: number): void {
    // From the last to the first: a key is of no use without those before it, so the first must live longest.
    for (let at = chain.length - 1; at >= 0; at -= 1) {
      const key = chain[at];
      if (key === undefined) continue;
      this.#used.delete(key);
      this.#used.add(key);
    }
    this.trim(most);
  }

  /** Forgets a chain from its key number `from` on. */
  drop(chain: readonly number[], from: number): void {
    for (let at = from; at < chain.length; at += 1) this.#used.delete(chain[at] ?? NaN);
  }

  /** Forgets until there are at most `most`. */
  trim(most: number): void {
    for (const oldest of this.#used) {
      if (this.#used.size <= most) return;
      this.#used.delete(oldest);
    }
  }
}

/** How much of a prompt is to be read where so many of its keys are warm. */
export function unreadOf(promptTokens: number, { tokensAKey }: Warm, matched: number): number {
  return Math.max(0, promptTokens - tokensAKey * matched);
}
