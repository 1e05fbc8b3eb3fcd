/**
 * A mean in which a sample of age `tau` counts 1/e as much as a new one. Sparse samples keep their say: what fades is their
 * weight against newer ones and against a prior.
 */
export class DecayedMean {
  readonly #tau: number;
  #sum = 0;
  #weight = 0;
  #at = 0;

  /** @param tauMs - Milliseconds, above 0. */
  constructor(tauMs: number) {
    this.#tau = tauMs;
  }

  /** @param now - Milliseconds; an earlier one than before counts as the same. */
  add(value: number, now: number): void {
    this.#age(now);
    this.#sum += value;
    this.#weight += 1;
  }

  /** How many new samples what is known is worth, at `now`. */
  weight(now: number): number {
    return this.#weight * this.#factor(now);
  }

  /** Null before the first sample. */
  get value(): number | null {
    return this.#weight === 0 ? null : this.#sum / this.#weight;
  }

  /** The mean with `count` further samples of `prior`: what is little known lies near it. */
  shrunk(prior: number, count: number, now: number): number {
    const factor = this.#factor(now);
    return (this.#sum * factor + prior * count) / (this.#weight * factor + count);
  }

  #factor(now: number): number {
    return now > this.#at ? Math.exp((this.#at - now) / this.#tau) : 1;
  }

  #age(now: number): void {
    const factor = this.#factor(now);
    this.#sum *= factor;
    this.#weight *= factor;
    // So small that the mean would be rounding noise: the next sample stands alone.
    if (this.#weight < 1e-12) {
      this.#sum = 0;
      this.#weight = 0;
    }
    this.#at = Math.max(this.#at, now);
  }
}
