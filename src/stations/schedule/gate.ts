import { RateBucket, type RateBounds } from '../../lib/rate-bucket/rate-bucket.ts';

/** A rate that all processes share, and how much of it may come at once. */
export interface FleetRate extends RateBounds {
  /** Names it among all rates. */
  readonly name: string;
  /** What this process may use until it is told otherwise. */
  readonly initial: number;
}

export type RateUnit = 'tokens' | 'requests';

export interface GateBounds {
  /** Requests at once in this process; null = any number. */
  readonly slots: number | null;
  readonly tokens: FleetRate | null;
  readonly requests: FleetRate | null;
}

/** A request's place behind a gate. Both may be called again without effect. */
export interface Entry {
  /** Gives the slot back. */
  leave(): void;
  /** What it took in the end, in tokens, in place of what was said. */
  settle(tokens: number): void;
}

/** What goes into one deployment from this process: so many at once, so much a second. */
export class Gate {
  readonly id: string;
  /** Whose requests come here. */
  readonly model: string;
  readonly #now: () => number;
  readonly #onRoom: (gate: Gate) => void;
  readonly #onRunning: (running: number) => void;
  readonly #rates = new Map<RateUnit, Rate>();
  #slots: number | null = null;
  #running = 0;

  constructor(options: {
    readonly id: string;
    readonly model: string;
    readonly now: () => number;
    /** There may be room for somebody who waits. */
    readonly onRoom: (gate: Gate) => void;
    readonly onRunning: (running: number) => void;
  }) {
    this.id = options.id;
    this.model = options.model;
    this.#now = options.now;
    this.#onRoom = options.onRoom;
    this.#onRunning = options.onRunning;
  }

  get running(): number {
    return this.#running;
  }

  /** New bounds; who runs goes on. */
  change({ slots, tokens, requests }: GateBounds): void {
    this.#slots = slots;
    for (const [unit, bounds] of [
      ['tokens', tokens],
      ['requests', requests],
    ] as const) {
      if (bounds === null) this.#rates.delete(unit);
      else {
        const rate = this.#rates.get(unit) ?? new Rate(bounds, this.#now());
        this.#rates.set(unit, rate);
        rate.change(bounds, this.#now());
      }
    }
    this.#onRoom(this);
  }

  /** Is there room now for a request of so many tokens? */
  fits(tokens: number): boolean {
    return (this.#slots === null || this.#running < this.#slots) && this.waitMs(tokens) <= 0;
  }

  /** Milliseconds until the rates allow it; 0 = they do now, Infinity = not as things are. */
  waitMs(tokens: number): number {
    const now = this.#now();
    let longest = 0;
    for (const [unit, rate] of this.#rates)
      longest = Math.max(longest, rate.bucket.waitMs(unit === 'tokens' ? tokens : 1, now));
    return longest;
  }

  /** A place at once, or none. */
  enter(tokens: number): Entry | null {
    if (!this.fits(tokens)) return null;
    const now = this.#now();
    for (const [unit, { bucket }] of this.#rates) bucket.tryTake(unit === 'tokens' ? tokens : 1, now);
    this.#running += 1;
    this.#onRunning(this.#running);
    let isIn = true;
    let isSettled = false;
    return {
      leave: () => {
        if (!isIn) return;
        isIn = false;
        this.#running -= 1;
        this.#onRunning(this.#running);
        this.#onRoom(this);
      },
      settle: (actual) => {
        if (isSettled) return;
        isSettled = true;
        const bucket = this.#rates.get('tokens')?.bucket;
        if (bucket === undefined || actual === tokens) return;
        bucket.correct(actual - tokens, this.#now());
        if (actual < tokens) this.#onRoom(this);
      },
    };
  }

  /** Somebody wants to go in, whether or not there is room. */
  asked(tokens: number): void {
    for (const [unit, rate] of this.#rates) rate.asked += unit === 'tokens' ? tokens : 1;
  }

  /** Its rates, with what was asked of them since the last look. */
  rates(): readonly [RateUnit, Rate][] {
    return [...this.#rates];
  }

  /** Another share of a rate. */
  grant(unit: RateUnit, share: number): void {
    const rate = this.#rates.get(unit);
    if (rate === undefined || rate.share === share) return;
    rate.grant(share, this.#now());
    this.#onRoom(this);
  }
}

/** A share of a rate, and what is wanted of it. */
export class Rate {
  readonly bucket: RateBucket;
  fleet: FleetRate;
  share: number;
  /** Units asked for since somebody looked. */
  asked = 0;

  constructor(fleet: FleetRate, now: number) {
    this.fleet = fleet;
    this.share = fleet.initial;
    this.bucket = new RateBucket(this.#bounds(), now);
  }

  change(fleet: FleetRate, now: number): void {
    if (fleet.rate === this.fleet.rate && fleet.burst === this.fleet.burst && fleet.initial === this.fleet.initial)
      return;
    // Without a store the share is a part of the rate; with one, what was given stays until it is told otherwise.
    this.share = fleet.initial > 0 ? fleet.initial : Math.min(this.share, fleet.rate);
    this.fleet = fleet;
    this.bucket.change(this.#bounds(), now);
  }

  grant(share: number, now: number): void {
    this.share = share;
    this.bucket.change(this.#bounds(), now);
  }

  /** The burst goes with the share: all of them together are no larger than one. */
  #bounds(): RateBounds {
    const { rate, burst } = this.fleet;
    return { rate: this.share, burst: (burst * this.share) / rate };
  }
}
