/** How many requests get their turn, by what happened in the last seconds. */
export class DrainRate {
  readonly #memoryMs: number;
  #count = 0;
  #at: number;

  constructor(now: number, memoryMs = 5000) {
    this.#at = now;
    this.#memoryMs = memoryMs;
  }

  /** One got its turn. */
  add(now: number): void {
    this.#count = this.#left(now) + 1;
    this.#at = Math.max(this.#at, now);
  }

  /** How long until `ahead` more have had theirs, milliseconds; null = nobody had one lately. */
  msFor(ahead: number, now: number): number | null {
    const perMs = this.#left(now) / this.#memoryMs;
    return perMs * this.#memoryMs < 0.05 ? null : ahead / perMs;
  }

  #left(now: number): number {
    return this.#count * Math.exp(-Math.max(0, now - this.#at) / this.#memoryMs);
  }
}
