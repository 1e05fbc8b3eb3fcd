/** Where a value is, as long as it is there. */
interface Cell<V> {
  value: V | null;
}

/**
 * A map for what comes and goes all the time and holds a lot: a request, a stream. A plain `Map` that grows or shrinks leaves its
 * old table behind, which still holds what was in it and points at the next one; once one such table is in the old generation, all
 * later ones are kept, with all that went through them, until the next collection of everything. Here what goes is gone.
 */
export class PassingMap<K extends string | number, V extends object> {
  readonly #cells = new Map<K, Cell<V>>();

  /** Values held now. */
  get size(): number {
    return this.#cells.size;
  }

  get(key: K): V | undefined {
    return this.#cells.get(key)?.value ?? undefined;
  }

  /** Puts a value in as the newest, or in the place of the one that is there. */
  set(key: K, value: V): void {
    const cell = this.#cells.get(key);
    if (cell === undefined) this.#cells.set(key, { value });
    else cell.value = value;
  }

  /** Takes the value out; undefined when there is none. */
  take(key: K): V | undefined {
    const cell = this.#cells.get(key);
    if (cell === undefined) return undefined;
    const { value } = cell;
    cell.value = null;
    this.#cells.delete(key);
    return value ?? undefined;
  }

  /** The one that came before all others; undefined when there is none. */
  oldest(): V | undefined {
    for (const value of this.values()) return value;
    return undefined;
  }

  /** The values, the oldest first. They may be taken out meanwhile. */
  *values(): Generator<V, void, undefined> {
    for (const { value } of this.#cells.values()) if (value !== null) yield value;
  }
}
