/** A straight line through samples (least squares) that forgets old ones, with intercept and slope of at least 0. */
export class DecayedLine {
  readonly #tau: number;
  #weight = 0;
  #x = 0;
  #y = 0;
  #xx = 0;
  #xy = 0;
  #at = 0;

  /** @param tauMs - After this many milliseconds a sample counts 1/e as much as a new one. */
  constructor(tauMs: number) {
    this.#tau = tauMs;
  }

  add(x: number, y: number, now: number): void {
    const factor = now > this.#at ? Math.exp((this.#at - now) / this.#tau) : 1;
    this.#at = Math.max(this.#at, now);
    this.#weight = this.#weight * factor + 1;
    this.#x = this.#x * factor + x;
    this.#y = this.#y * factor + y;
    this.#xx = this.#xx * factor + x * x;
    this.#xy = this.#xy * factor + x * y;
  }

  /** What `y` is to be expected at `x`; null before the first sample. */
  at(x: number): number | null {
    const weight = this.#weight;
    if (weight === 0) return null;
    const meanX = this.#x / weight;
    const meanY = this.#y / weight;
    const spread = this.#xx / weight - meanX * meanX;
    // Without a spread of x there is no slope to be seen; the tolerance is that of the subtraction above.
    if (!(spread > 1e-9 * (1 + meanX * meanX))) return meanY;
    const slope = Math.min((this.#xy / weight - meanX * meanY) / spread, meanX > 0 ? meanY / meanX : Infinity);
    return slope <= 0 ? meanY : meanY + slope * (x - meanX);
  }
}
