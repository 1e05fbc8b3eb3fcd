/** One timer that is set anew for whatever is waited for next. */
export class Alarm {
  #timer: NodeJS.Timeout | null = null;

  /**
   * Calls `then` after `ms` (at least one), unless it is set anew or cleared before. Whole ones, rounded up: Node keeps one list
   * a length, and fractions would give each timer a list of its own.
   */
  set(ms: number, then: () => void): void {
    this.clear();
    this.#timer = setTimeout(then, Math.max(1, Math.ceil(ms)));
  }

  clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
