/** A ratio of two sums in which a sample of age `tau` counts 1/e as much as a new one. */
export class DecayedRatio {
  readonly #tau: number;
  #above = 0;
  #below = 0;
  #at = 0;

  /** @param tauMs - Milliseconds, above 0. */
  constructor(tauMs: number) {
    this.#tau = tauMs;
  }

  /** @param now - Milliseconds; an earlier one than before counts as the same. */
  add(above: number, below: number, now: number): void {
    const factor = this.#factor(now);
    this.#above = this.#above * factor + above;
    this.#below = this.#below * factor + below;
    this.#at = Math.max(this.#at, now);
  }

  /** What is left of the lower sum at `now`. */
  weight(now: number): number {
    return this.#below * this.#factor(now);
  }

  /** Null while there is nothing below. */
  get value(): number | null {
    return this.#below > 0 ? this.#above / this.#below : null;
  }

  #factor(now: number): number {
    return now > this.#at ? Math.exp((this.#at - now) / this.#tau) : 1;
  }
}
