/** Share of what ran that is allowed after a 429. */
const SHRINK = 0.75;
/** How long after a 429 further ones say nothing new, milliseconds: they were sent before the first came back. */
const ONE_LESSON_MS = 1000;
/** One more request at once for each of this many that went well at the limit, soon after a 429 ... */
const GROW_AFTER = 10;
/** ... and for each one, when none came for so long, milliseconds: it may have much more room again. */
const QUIET_MS = 10_000;
/** First and longest rest of one that refuses even a single request and does not say for how long, milliseconds. */
const REST_MS = { first: 1000, longest: 8000 } as const;

/**
 * How many requests at once a target takes, learned from its 429s: fewer at once after one, a little more again while all
 * goes well.
 */
export class BusyLimit {
  readonly #capacity: () => number | null;
  #limit: number | null = null;
  #good = 0;
  #learnedAt = -Infinity;
  #restUntil = -Infinity;
  /** As others heard it. */
  #heardUntil = -Infinity;
  /** 429s without a good answer in between that fewer requests at once would not have spared us. */
  #row = 0;

  /** @param capacity - What it is good for when it does not complain; null = not known. */
  constructor(capacity: () => number | null) {
    this.#capacity = capacity;
  }

  /** Requests at once; null = no limit is known. */
  get limit(): number | null {
    return this.#limit ?? this.#capacity();
  }

  /** When it wants to be asked again, in the milliseconds of `now`; in the past = it does not mind. */
  get restUntil(): number {
    return Math.max(this.#restUntil, this.#heardUntil);
  }

  /** The same, by what it told us alone. */
  get ownRestUntil(): number {
    return this.#restUntil;
  }

  /** It told another worker that it wants a rest until then. */
  heard(until: number): void {
    this.#heardUntil = Math.max(this.#heardUntil, until);
  }

  /** A 429 came while `running` requests ran, that one included. */
  refused(running: number, retryAfterMs: number | null, now: number): void {
    if (retryAfterMs !== null) this.#restUntil = Math.max(this.#restUntil, now + retryAfterMs);
    if (now - this.#learnedAt < ONE_LESSON_MS) return;
    this.#learnedAt = now;
    this.#good = 0;
    if (retryAfterMs === null && (running <= 1 || this.#limit === 1)) this.#rest(now);
    this.#limit = Math.max(1, Math.floor(Math.min(running - 1, this.#limit ?? Infinity) * SHRINK));
  }

  /** An answer went well while `running` requests ran, that one included. */
  served(running: number, now: number): void {
    this.#row = 0;
    if (this.#limit === null || running < this.#limit) return;
    this.#good += 1;
    if (this.#good < GROW_AFTER && now - this.#learnedAt < QUIET_MS) return;
    this.#good = 0;
    this.#limit += 1;
    const capacity = this.#capacity();
    if (capacity !== null && this.#limit >= capacity) this.#limit = null;
  }

  /** Longer each time: it is full of somebody else's work, or out of its quota. */
  #rest(now: number): void {
    const ms = Math.min(REST_MS.longest, REST_MS.first * 2 ** this.#row);
    this.#row += 1;
    this.#restUntil = Math.max(this.#restUntil, now + ms);
  }
}
