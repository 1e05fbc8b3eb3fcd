/**
 * A map that holds at most `max` entries and forgets the one used longest ago. Every operation is O(1): a `Map` keeps
 * insertion order, so an entry that is used is taken out and put in again at the end.
 */
export class Lru<K, V> {
  readonly #max: number;
  readonly #entries = new Map<K, V>();

  /** @param max - Entries kept; 0 keeps none. Throws `RangeError` for anything but a whole number >= 0. */
  constructor(max: number) {
    if (!Number.isSafeInteger(max) || max < 0) throw new RangeError(`max must be a whole number >= 0, not ${max}`);
    this.#max = max;
  }

  /** Entries held now. */
  get size(): number {
    return this.#entries.size;
  }

  /** The value, which counts as used now. A stored `undefined` cannot be told from a missing entry. */
  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  /** Puts the entry in as the newest and drops the oldest where the bound is passed. */
  set(key: K, value: V): void {
    if (this.#max === 0) return;
    this.#entries.delete(key);
    if (this.#entries.size >= this.#max) {
      const oldest = this.#entries.keys().next();
      if (oldest.done !== true) this.#entries.delete(oldest.value);
    }
    this.#entries.set(key, value);
  }

  /** True when there was such an entry. */
  delete(key: K): boolean {
    return this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }
}
