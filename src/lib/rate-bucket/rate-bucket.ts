/** What a bucket allows: units a second, and how many may come at once. */
export interface RateBounds {
  readonly rate: number;
  readonly burst: number;
}

/**
 * A rate limit by the generic cell rate algorithm, in units instead of times so that its rate may change: what was taken
 * drains at `rate`, and no more than `burst` may stand there. What costs more than the whole burst passes when nothing
 * stands there. So over any time t no more is taken than rate × t + the larger of burst and the largest amount (their sum,
 * where the burst changes).
 * It begins full up: who starts anew must not win a burst by it. All times are milliseconds of one monotonic clock.
 */
export class RateBucket {
  #rate = 0;
  #burst = 0;
  /** Taken and not drained yet; above the burst it is a debt. */
  #standing = 0;
  #at: number;

  constructor(bounds: RateBounds, now: number) {
    this.#at = now;
    this.change(bounds, now);
  }

  get rate(): number {
    return this.#rate;
  }

  /** Other bounds from now on. What was free stays free as far as the new burst holds it; a larger burst is free only by and by. */
  change({ rate, burst }: RateBounds, now: number): void {
    this.#drain(now);
    const free = Math.min(this.#burst - this.#standing, burst);
    this.#rate = rate;
    this.#burst = burst;
    this.#standing = burst - free;
  }

  /** Milliseconds until `amount` may be taken; 0 = now; Infinity = never at this rate. */
  waitMs(amount: number, now: number): number {
    this.#drain(now);
    const excess = this.#standing - Math.max(0, this.#burst - amount);
    if (this.#rate <= 0) return Infinity;
    return excess <= NOISE * this.#burst ? 0 : (excess / this.#rate) * 1000;
  }

  /** Takes it all, or nothing. */
  tryTake(amount: number, now: number): boolean {
    if (this.waitMs(amount, now) > 0) return false;
    this.#standing += amount;
    return true;
  }

  /** What was taken turned out to be so much more, or (negative) less. */
  correct(amount: number, now: number): void {
    this.#drain(now);
    this.#standing = Math.max(0, this.#standing + amount);
  }

  #drain(now: number): void {
    if (now <= this.#at) return;
    this.#standing = Math.max(0, this.#standing - ((now - this.#at) * this.#rate) / 1000);
    this.#at = now;
  }
}

/** Parts of a burst that are rounding and not use. */
const NOISE = 1e-9;
