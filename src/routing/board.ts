import { Findings } from './findings.ts';
import type { Lease, Work } from './lease.ts';
import { LEAST_HEALTH, LiveTarget } from './live-target.ts';
import { Pace } from './pace.ts';
import { Shelf } from './shelf.ts';
import type { Outcome, Target } from './target.ts';

export interface BoardOptions {
  /** What nobody used for so long, and where nothing runs, is forgotten, milliseconds. */
  readonly forgetMs?: number;
  /** What others know of targets. */
  readonly findings?: Findings;
}

/** Warm keys that are remembered for one target, and for all together: about 60 bytes each, so 16 MB at most. */
const KEYS_A_TARGET = 4096;
const KEYS_IN_ALL = 262_144;

/** A try that was begun; its outcome goes to `end`. */
export interface Began {
  readonly live: LiveTarget;
  readonly lease: Lease;
}

/** What other replicas run, by incarnation. */
export type Load = ReadonlyMap<string, number>;

/**
 * What runs where and how it goes, by incarnation of target. All times are milliseconds of one monotonic clock; pick and
 * count are one synchronous step, so a burst is spread by what it has itself just done.
 */
export class Board {
  readonly #live = new Map<string, LiveTarget>();
  readonly #paces = new Map<string, Pace>();
  readonly #shelves = new Map<string, Shelf>();
  readonly #replicas = new Map<string, number>();
  readonly #forgetMs: number;
  readonly findings: Findings;

  constructor({ forgetMs = 600_000, findings = new Findings() }: BoardOptions = {}) {
    this.findings = findings;
    this.#forgetMs = forgetMs;
  }

  /** What is known of a target; a new incarnation begins with nothing but its prior. */
  of(target: Target): LiveTarget {
    const known = this.#live.get(target.incarnation);
    if (known !== undefined) {
      known.target = target;
      return known;
    }
    const made = new LiveTarget(target, {
      paceOf: (kind) => this.#paceOf(target.group, kind),
      findings: this.findings,
      shelfOf: (server) => this.#shelfOf(server),
      mostKeys: () => Math.min(KEYS_A_TARGET, Math.floor(KEYS_IN_ALL / this.#live.size)),
    });
    this.#live.set(target.incarnation, made);
    return made;
  }

  /** A try is decided on. `expiresAt`: when it counts as forgotten; later than any timeout that may end it. */
  hold(target: Target, work: Work, now: number, expiresAt: number): Began {
    const live = this.of(target);
    return { live, lease: live.hold(work, now, expiresAt) };
  }

  /** The target gets it: from now on its silence is its own. */
  send({ live, lease }: Began, now: number): void {
    live.send(lease, now);
  }

  /** Both at once. */
  begin(target: Target, work: Work, now: number, expiresAt: number): Began {
    const began = this.hold(target, work, now, expiresAt);
    this.send(began, now);
    return began;
  }

  firstToken({ live, lease }: Began, now: number): void {
    live.firstToken(lease, now);
  }

  end({ live, lease }: Began, outcome: Outcome, now: number): void {
    live.end(lease, outcome, now);
  }

  /** 0.05..1; 1 for one that nothing is known of. */
  healthOf(incarnation: string, now: number): number {
    return this.#live.get(incarnation)?.health(now) ?? Math.max(LEAST_HEALTH, this.findings.factor(incarnation, now));
  }

  /** Requests that run there, of all workers. */
  runningOf(incarnation: string): number {
    return this.#live.get(incarnation)?.running ?? 0;
  }

  has(incarnation: string): boolean {
    return this.#live.has(incarnation);
  }

  /** Our own load, for other replicas. */
  load(): Load {
    const running = new Map<string, number>();
    for (const [incarnation, live] of this.#live) if (live.ownRunning > 0) running.set(incarnation, live.ownRunning);
    return running;
  }

  /** Who asked us for a rest, and for how long from now, milliseconds. */
  rests(now: number): readonly (readonly [incarnation: string, forMs: number])[] {
    return [...this.#live].flatMap(([incarnation, { busy }]) =>
      busy.ownRestUntil > now ? [[incarnation, Math.ceil(busy.ownRestUntil - now)] as const] : [],
    );
  }

  /** Another worker was asked for rests. */
  heedRests(rests: readonly (readonly [incarnation: string, forMs: number])[], now: number): void {
    for (const [incarnation, forMs] of rests) this.#live.get(incarnation)?.busy.heard(now + forMs);
  }

  /** What a replica runs; counts until `until`, or until it says something new. */
  heed(replica: string, load: Load, until: number): void {
    this.#replicas.set(replica, until);
    for (const [incarnation, live] of this.#live) {
      live.heed(replica, load.get(incarnation) ?? 0);
    }
  }

  /** Lets go of forgotten tries, silent replicas and unused targets. Returns how many tries nobody had ended. */
  sweep(now: number): number {
    this.findings.sweep(now);
    for (const [replica, until] of this.#replicas) {
      if (until > now) continue;
      this.#replicas.delete(replica);
      for (const live of this.#live.values()) live.heed(replica, 0);
    }
    let forgotten = 0;
    for (const [incarnation, live] of this.#live) {
      forgotten += live.sweep(now);
      if (live.running > 0 || now - live.usedAt < this.#forgetMs) continue;
      live.retire();
      this.#live.delete(incarnation);
    }
    for (const [server, shelf] of this.#shelves) {
      shelf.sweep(now - this.#forgetMs);
      if (shelf.size === 0 && shelf.running === 0) this.#shelves.delete(server);
    }
    return forgotten;
  }

  #shelfOf(server: string): Shelf {
    const known = this.#shelves.get(server) ?? new Shelf();
    this.#shelves.set(server, known);
    return known;
  }

  #paceOf(group: string, kind: string): Pace {
    const name = `${group}\n${kind}`;
    const known = this.#paces.get(name) ?? new Pace();
    this.#paces.set(name, known);
    return known;
  }
}
