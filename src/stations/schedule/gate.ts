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

/** Who is let in before. */
export interface Ahead {
  readonly requests: number;
  readonly tokens: number;
}

/** What a request is thought to hold its slot for as long as none has ended. */
const USUAL_HELD_MS = 1000;
/** The weight of the newest one in the mean, at the least. */
const NEWEST = 0.1;

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
  /** When those came that run, the oldest first. */
  readonly #since = new Set<{ readonly at: number }>();
  /** Mean time for which slots were held, of so many. */
  #heldMs = 0;
  #ended = 0;

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
    return this.#since.size;
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
    return (this.#slots === null || this.running < this.#slots) && this.waitMs(tokens) <= 0;
  }

  /** Milliseconds until the rates allow it; 0 = they do now, Infinity = not as things are. */
  waitMs(tokens: number): number {
    const now = this.#now();
    let longest = 0;
    for (const [unit, rate] of this.#rates)
      longest = Math.max(longest, rate.bucket.waitMs(unit === 'tokens' ? tokens : 1, now));
    return longest;
  }

  /**
   * Milliseconds until a request of so many tokens would be let in if it came here after those `ahead`, by how long slots were held
   * lately and by the rates. Infinity: not as things are.
   */
  drainMs(tokens: number, ahead: Ahead): number {
    const now = this.#now();
    let longest = this.#slotsMs(ahead.requests + 1, now);
    for (const [unit, { bucket }] of this.#rates) {
      const [own, before] = unit === 'tokens' ? [tokens, ahead.tokens] : [1, ahead.requests];
      longest = Math.max(longest, bucket.waitMs(own, now) + (bucket.rate > 0 ? (before / bucket.rate) * 1000 : 0));
    }
    return longest;
  }

  /** A place at once, or none. */
  enter(tokens: number): Entry | null {
    if (!this.fits(tokens)) return null;
    const now = this.#now();
    for (const [unit, { bucket }] of this.#rates) bucket.tryTake(unit === 'tokens' ? tokens : 1, now);
    const held = { at: now };
    this.#since.add(held);
    this.#onRunning(this.running);
    let isSettled = false;
    return {
      leave: () => {
        if (!this.#since.delete(held)) return;
        this.#learn(this.#now() - held.at);
        this.#onRunning(this.running);
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

  /** Milliseconds until so many more have had a slot. */
  #slotsMs(requests: number, now: number): number {
    if (this.#slots === null) return 0;
    const turns = requests - Math.max(0, this.#slots - this.running);
    if (turns <= 0) return 0;
    const [oldest] = this.#since;
    const age = now - (oldest?.at ?? now);
    // Of one that is under way, as much is to come as has been, for all that is known.
    const heldMs = this.#ended > 0 ? this.#heldMs : Math.max(USUAL_HELD_MS, 2 * age);
    return Math.max(0, heldMs - age) + ((turns - 1) * heldMs) / this.#slots;
  }

  #learn(heldMs: number): void {
    this.#ended += 1;
    this.#heldMs += (heldMs - this.#heldMs) * Math.max(1 / this.#ended, NEWEST);
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
