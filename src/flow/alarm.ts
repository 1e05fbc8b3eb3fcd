/** One timer that is set anew for whatever is waited for next. */
export class Alarm {
  #timer: NodeJS.Timeout | null = null;

  /** Calls `then` after `ms` (at least one), unless it is set anew or cleared before. */
  set(ms: number, then: () => void): void {
    this.clear();
    this.#timer = setTimeout(then, Math.max(1, ms));
  }

  clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
