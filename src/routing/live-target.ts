import { NOTHING_WARM } from '../core/warm.ts';
import { DecayedMean } from '../lib/decay/decayed-mean.ts';
import type { OutReason } from '../core/finding.ts';
import { BusyLimit } from './busy-limit.ts';
import type { Findings } from './findings.ts';
import { errorFactor, rowFactor } from './health-factor.ts';
import { Lease, type Work } from './lease.ts';
import type { Pace } from './pace.ts';
import { Speed } from './speed.ts';
import type { Outcome, Target } from './target.ts';
import { WarmKeys } from './warm-keys.ts';

const ERROR_MEMORY_MS = 5000;
/** Good answers that are believed in before any came: one error alone does not condemn. */
const GOODWILL = 3;
/** Health falls at once and comes back with this time constant, milliseconds. */
const RECOVERY_MS = 10_000;
/** From here on it need not come back slowly. */
const WELL = 0.95;
/** Even the sickest gets this share of a healthy one's work: nobody recovers unseen. */
export const LEAST_HEALTH = 0.05;

export interface LiveTargetOptions {
  /** What is usual for a kind of work in the target's group. */
  readonly paceOf: (kind: string) => Pace;
  /** What others know of it: a hot GPU, a failed probe. */
  readonly findings: Pick<Findings, 'factor' | 'out'>;
  /** How many warm keys may be remembered here now. */
  readonly mostKeys: () => number;
}

/** What is known of one incarnation of a target. Times are milliseconds of one monotonic clock. */
export class LiveTarget {
  target: Target;
  readonly busy: BusyLimit;
  /** What is warm there. */
  readonly warm = new WarmKeys();
  /** A number of its own, drawn from its incarnation. */
  readonly lot: number;
  readonly #paceOf: (kind: string) => Pace;
  readonly #findings: Pick<Findings, 'factor' | 'out'>;
  readonly #mostKeys: () => number;
  readonly #leases = new Set<Lease>();
  readonly #speeds = new Map<string, Speed>();
  readonly #errors = new DecayedMean(ERROR_MEMORY_MS);
  /** Errors without a good answer in between. */
  #row = 0;
  readonly #elsewhere = new Map<string, number>();
  #others = 0;
  usedAt = 0;
  #health = 1;
  #healthAt = 0;
  #failedAt = -Infinity;

  constructor(target: Target, { paceOf, findings, mostKeys }: LiveTargetOptions) {
    this.target = target;
    this.lot = lotOf(target.incarnation);
    this.#paceOf = paceOf;
    this.#findings = findings;
    this.#mostKeys = mostKeys;
    this.busy = new BusyLimit(() => this.target.capacity);
  }

  /** Requests that run there by our own count, other replicas' included. */
  get running(): number {
    return this.#leases.size + this.#others;
  }

  /** Ours alone. */
  get ownRunning(): number {
    return this.#leases.size;
  }

  /** What one other replica runs there. */
  heed(replica: string, running: number): void {
    this.#others += running - (this.#elsewhere.get(replica) ?? 0);
    if (running > 0) this.#elsewhere.set(replica, running);
    else this.#elsewhere.delete(replica);
  }

  /** It counts as load from now on; that it was sent, `send` says. */
  hold(work: Work, now: number, expiresAt: number): Lease {
    const { keys } = work.warm ?? NOTHING_WARM;
    const lease = new Lease(work, expiresAt, this.warm.match(keys));
    this.warm.use(keys, this.#keysAtMost());
    this.#leases.add(lease);
    this.#speedOf(work).picked(lease, now);
    this.usedAt = now;
    return lease;
  }

  /** The target has it: from now on its silence is its own. */
  send(lease: Lease, now: number): void {
    if (lease.isOver || lease.startedAt !== null) return;
    lease.startedAt = now;
    this.#speedOf(lease).begin(lease);
  }

  firstToken(lease: Lease, now: number): void {
    if (lease.isOver || lease.firstAt !== null) return;
    lease.firstAt = now;
    this.#speeds.get(lease.kind)?.firstToken(lease, now);
  }

  /** Ends a lease once; a second word on it changes nothing. */
  end(lease: Lease, outcome: Outcome, now: number): void {
    if (lease.isOver) return;
    const running = this.running;
    this.#drop(lease);
    // Nothing came of it: only what was known before is still taken to be warm there.
    if (outcome.kind !== 'served' && lease.firstAt === null) this.warm.drop(lease.warm.keys, lease.warmBefore);
    const speed = this.#speeds.get(lease.kind);
    switch (outcome.kind) {
      case 'served':
        speed?.served(lease, outcome.tokens, now);
        // What began before the last failure says nothing against it.
        if ((lease.startedAt ?? now) >= this.#failedAt) {
          this.#errors.add(0, now);
          this.#row = 0;
        }
        this.busy.served(running, now);
        break;
      case 'failed':
        this.#errors.add(1, now);
        this.#failedAt = now;
        this.#row += 1;
        speed?.heardNothing(lease, now);
        break;
      case 'busy':
        this.busy.refused(running, outcome.retryAfterMs, now);
        break;
      case 'neutral':
        // Whoever lost patience: how long it kept silent is a fact.
        speed?.heardNothing(lease, now);
        break;
      default:
        outcome satisfies never;
    }
  }

  /** Frees leases that nobody ended in time; how many there were. */
  sweep(now: number): number {
    this.warm.trim(this.#keysAtMost());
    let forgotten = 0;
    for (const lease of this.#leases) {
      if (lease.expiresAt > now) continue;
      this.#drop(lease);
      forgotten += 1;
    }
    return forgotten;
  }

  /** How fast it does a kind of work; null = it never did any. */
  speed(kind: string): Speed | null {
    return this.#speeds.get(kind) ?? null;
  }

  /** What is usual in its group for a kind of work. */
  pace(kind: string): Pace {
    return this.#speeds.get(kind)?.pace ?? this.#paceOf(kind);
  }

  /** Share of tries that failed, lately. */
  errorRate(now: number): number {
    return this.#errors.shrunk(0, GOODWILL, now);
  }

  /** 0.05..1: falls at once, comes back slowly. */
  health(now: number): number {
    let raw = Math.min(
      errorFactor(this.errorRate(now)),
      this.#rowFactor(now),
      this.#findings.factor(this.target.incarnation, now),
    );
    for (const speed of this.#speeds.values()) raw = Math.min(raw, speed.factor(now));
    raw = Math.max(LEAST_HEALTH, raw);
    const passed = Math.max(0, now - this.#healthAt);
    this.#health =
      raw <= this.#health ? raw : this.#health + (raw - this.#health) * (1 - Math.exp(-passed / RECOVERY_MS));
    // The last bit at once: among equals, whoever lacks a hundredth would lose every time.
    if (raw > WELL && this.#health > WELL) this.#health = raw;
    this.#healthAt = Math.max(this.#healthAt, now);
    return this.#health;
  }

  /** A row that was not asked to go on is forgotten like single errors. */
  #rowFactor(now: number): number {
    return 1 - (1 - rowFactor(this.#row)) * Math.exp(-Math.max(0, now - this.#failedAt) / ERROR_MEMORY_MS);
  }

  /** Why nothing may go there, whatever its tries say; null = it may. */
  outReason(now: number): OutReason | null {
    return this.#findings.out(this.target.incarnation, now);
  }

  /** It is gone: its peers go on without it. */
  retire(): void {
    for (const speed of this.#speeds.values()) speed.retire();
  }

  #speedOf({ kind, stream }: Pick<Work, 'kind' | 'stream'>): Speed {
    const known = this.#speeds.get(kind);
    if (known !== undefined) return known;
    const made = new Speed(this.#paceOf(kind), stream);
    this.#speeds.set(kind, made);
    return made;
  }

  #keysAtMost(): number {
    return Math.min(this.target.warmRoom ?? Infinity, this.#mostKeys());
  }

  #drop(lease: Lease): void {
    lease.isOver = true;
    this.#leases.delete(lease);
    this.#speeds.get(lease.kind)?.drop(lease);
  }
}

/** FNV-1a of its characters, below 2^32. */
function lotOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
