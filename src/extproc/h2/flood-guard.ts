/**
 * How much useless work a peer may make: a bucket that fills again with time. What it counts is legal one by one (PING, SETTINGS,
 * empty DATA), and an attack in numbers. The clock is asked only when the bucket looks empty.
 */
export class FloodGuard {
  readonly #burst: number;
  readonly #perMs: number;
  readonly #now: () => number;
  #left: number;
  #since: number;

  /** `burst` at once, and `perSecond` more each second. `now` in milliseconds. */
  constructor({
    burst,
    perSecond,
    now,
  }: {
    readonly burst: number;
    readonly perSecond: number;
    readonly now: () => number;
  }) {
    this.#burst = burst;
    this.#perMs = perSecond / 1000;
    this.#now = now;
    this.#left = burst;
    this.#since = now();
  }

  /** Counts one. False when it is one too many. */
  take(): boolean {
    if (this.#left < 1) {
      const now = this.#now();
      this.#left = Math.min(this.#burst, this.#left + (now - this.#since) * this.#perMs);
      this.#since = now;
      if (this.#left < 1) return false;
    }
    this.#left -= 1;
    return true;
  }
}
