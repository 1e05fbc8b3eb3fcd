/**
 * Which models one server has loaded, by what was sent there: it loads what it is asked for, and lets go of what it used longest
 * ago. Times are milliseconds of one monotonic clock.
 */
export class Shelf {
  /** When each was used last; the one used longest ago first. */
  readonly #used = new Map<string, number>();
  /** Asked for where they were not, and nothing came of it yet. */
  readonly #loading = new Set<string>();

  /** Requests of all its models that run there by our own count. */
  running = 0;

  get size(): number {
    return this.#used.size;
  }

  /** When a model was used last; null = never, or it had to make room. */
  usedAt(model: string): number | null {
    return this.#used.get(model) ?? null;
  }

  isLoading(model: string): boolean {
    return this.#loading.has(model);
  }

  /** A request for it goes there. `most`: how many there is room for; null = not known. */
  use(model: string, now: number, most: number | null): void {
    this.#used.delete(model);
    this.#used.set(model, now);
    for (const [oldest] of this.#used) {
      if (most === null || this.#used.size <= most) return;
      this.forget(oldest);
    }
  }

  /** It has to be loaded first. */
  load(model: string): void {
    this.#loading.add(model);
  }

  /** It answered. */
  loaded(model: string): void {
    this.#loading.delete(model);
  }

  /** It never came, or is gone. */
  forget(model: string): void {
    this.#used.delete(model);
    this.#loading.delete(model);
  }

  /** Lets go of what nobody used since. */
  sweep(since: number): void {
    for (const [model, usedAt] of this.#used) if (usedAt < since) this.forget(model);
  }
}
