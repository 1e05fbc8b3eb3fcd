/** How fast what was long ago is forgotten: the weight of a second ago is 1/e. */
const MEMORY_MS = 1000;

/** Requests a second, as an exponentially weighted mean of about a second. Counting is one addition. */
export class RateMeter {
  #count = 0;
  #rate = 0;
  #at: number;

  /** @param now - Monotonic milliseconds. */
  constructor(now: number) {
    this.#at = now;
  }

  arrived(): void {
    this.#count += 1;
  }

  /** The rate now. To be called several times a second: what came since the last call counts as spread evenly over it. */
  tick(now: number): number {
    const passed = now - this.#at;
    if (passed <= 0) return this.#rate;
    const fresh = (this.#count * 1000) / passed;
    this.#rate += (1 - Math.exp(-passed / MEMORY_MS)) * (fresh - this.#rate);
    this.#count = 0;
    this.#at = now;
    return this.#rate;
  }
}
