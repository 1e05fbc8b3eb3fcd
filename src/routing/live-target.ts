import { DecayedMean } from '../lib/decay/decayed-mean.ts';
import { BusyLimit } from './busy-limit.ts';
import { errorFactor, paceFactor } from './health-factor.ts';
import { Lease } from './lease.ts';
import type { Pace } from './pace.ts';
import type { Outcome, Target } from './target.ts';

/** How long samples of speed and of errors count, milliseconds. */
const SPEED_MEMORY_MS = 3000;
const ERROR_MEMORY_MS = 10_000;
/** Good answers that are believed in before any came: one error alone does not condemn. */
const GOODWILL = 4;
/** Health falls at once and comes back with this time constant, milliseconds. */
const RECOVERY_MS = 10_000;
/** Even the sickest gets this share of a healthy one's work: nobody recovers unseen. */
const LEAST_HEALTH = 0.05;
/** Work given out lately counts as load for about this long, so that requests with pauses between them are spread, too. */
const RECENT_MS = 1000;

/** What other replicas say of a target. */
export interface Elsewhere {
  readonly running: number;
}

/** What is known of one incarnation of a target. Times are milliseconds of one monotonic clock. */
export class LiveTarget {
  target: Target;
  readonly #pace: Pace;
  readonly #leases = new Set<Lease>();
  readonly #silent = new Set<Lease>();
  readonly #first = new DecayedMean(SPEED_MEMORY_MS);
  readonly #token = new DecayedMean(SPEED_MEMORY_MS * 3);
  readonly #errors = new DecayedMean(ERROR_MEMORY_MS);
  readonly #recent = new DecayedMean(RECENT_MS);
  readonly busy: BusyLimit;
  readonly elsewhere = new Map<string, Elsewhere>();
  /** What others know of it: a hot GPU, a failed probe. 1 = nothing. */
  external = 1;
  #health = 1;
  #healthAt = 0;
  usedAt = 0;

  constructor(target: Target, pace: Pace) {
    this.target = target;
    this.#pace = pace;
    this.busy = new BusyLimit(() => this.target.capacity);
    pace.join(this);
  }

  /** Requests that run there by our own count, other replicas' included. */
  get running(): number {
    let sum = this.#leases.size;
    for (const { running } of this.elsewhere.values()) sum += running;
    return sum;
  }

  /** Ours alone. */
  get ownRunning(): number {
    return this.#leases.size;
  }

  /** Picks of about the last second. */
  recent(now: number): number {
    return this.#recent.weight(now);
  }

  begin(facts: ConstructorParameters<typeof Lease>[0]): Lease {
    const lease = new Lease(facts);
    this.#leases.add(lease);
    this.#silent.add(lease);
    this.#recent.add(1, facts.startedAt);
    this.usedAt = facts.startedAt;
    return lease;
  }

  firstToken(lease: Lease, now: number): void {
    if (lease.isOver || lease.firstAt !== null) return;
    lease.firstAt = now;
    this.#silent.delete(lease);
    const ms = Math.max(0, now - lease.startedAt);
    const expected = this.expectedFirst(lease.promptTokens);
    this.#pace.saw(lease.promptTokens, ms, now);
    this.#first.add(expected === null ? 1 : ms / expected, now);
  }

  /** Ends a lease once; a second word on it changes nothing. */
  end(lease: Lease, outcome: Outcome, now: number): void {
    if (lease.isOver) return;
    const running = this.running;
    this.#drop(lease);
    switch (outcome.kind) {
      case 'served':
        if (lease.firstAt !== null && outcome.tokens > 1)
          this.#token.add((now - lease.firstAt) / (outcome.tokens - 1), now);
        this.#errors.add(0, now);
        this.busy.served(running);
        break;
      case 'failed':
        this.#errors.add(1, now);
        // How long it kept silent is known, and only ever too short.
        if (lease.firstAt === null) this.#heardNothing(lease, now);
        break;
      case 'busy':
        this.busy.refused(running, outcome.retryAfterMs, now);
        break;
      case 'neutral':
        break;
      default:
        outcome satisfies never;
    }
  }

  /** Frees leases that nobody ended in time; how many there were. */
  sweep(now: number): number {
    let forgotten = 0;
    for (const lease of this.#leases) {
      if (lease.expiresAt > now) continue;
      this.#drop(lease);
      forgotten += 1;
    }
    return forgotten;
  }

  /** The usual wait for a first token in the target's group, for such a prompt. */
  expectedFirst(promptTokens: number): number | null {
    return this.#pace.expected(promptTokens, this.target.prior.firstTokenMs);
  }

  /** Observed over expected wait for the first token; who still waits, and for how long, counts too. */
  firstTokenPace(now: number): number | null {
    const seen = this.#first.value;
    const [oldest] = this.#silent;
    if (oldest === undefined) return seen;
    const expected = this.expectedFirst(oldest.promptTokens);
    if (expected === null) return seen;
    const waiting = (now - oldest.startedAt) / expected;
    // A wait that is shorter than usual says nothing yet.
    return seen === null ? (waiting > 1 ? waiting : null) : Math.max(seen, waiting);
  }

  /** Milliseconds a token after the first. */
  tokenPace(): number | null {
    return this.#token.value;
  }

  /** Share of tries that failed, lately. */
  errorRate(now: number): number {
    return this.#errors.shrunk(0, GOODWILL, now);
  }

  /** 0.05..1: falls at once, comes back slowly. */
  health(now: number): number {
    const usual = this.#pace.usual(now);
    const raw = Math.max(
      LEAST_HEALTH,
      Math.min(
        paceFactor(this.firstTokenPace(now), usual.firstToken),
        paceFactor(this.tokenPace(), usual.token),
        errorFactor(this.errorRate(now)),
        this.external,
      ),
    );
    const passed = Math.max(0, now - this.#healthAt);
    this.#health =
      raw <= this.#health ? raw : this.#health + (raw - this.#health) * (1 - Math.exp(-passed / RECOVERY_MS));
    this.#healthAt = Math.max(this.#healthAt, now);
    return this.#health;
  }

  /** It is gone: its peers go on without it. */
  retire(): void {
    this.#pace.leave(this);
  }

  #drop(lease: Lease): void {
    lease.isOver = true;
    this.#leases.delete(lease);
    this.#silent.delete(lease);
  }

  #heardNothing(lease: Lease, now: number): void {
    const expected = this.expectedFirst(lease.promptTokens);
    const waited = now - lease.startedAt;
    // A fast refusal is an error, not speed.
    if (expected !== null && waited > expected) this.#first.add(waited / expected, now);
  }
}
