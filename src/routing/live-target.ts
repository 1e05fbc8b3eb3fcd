import { NOTHING_WARM, type Warm } from '../core/warm.ts';
import { DecayedMean } from '../lib/decay/decayed-mean.ts';
import { fnv1a } from '../lib/hash32/hash32.ts';
import { PassingMap } from '../lib/passing-map/passing-map.ts';
import type { OutReason } from '../core/finding.ts';
import { BusyLimit } from './busy-limit.ts';
import type { Findings } from './findings.ts';
import { errorFactor, rowFactor } from './health-factor.ts';
import { Lease, type Work } from './lease.ts';
import type { Pace } from './pace.ts';
import type { Shelf } from './shelf.ts';
import { Speed } from './speed.ts';
import type { Outcome, Target } from './target.ts';
import { WarmKeys } from './warm-keys.ts';

/** A server's own list of what is loaded may be so old: what was asked for since counts. */
const LIST_AGE_MS = 10_000;
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
  readonly findings: Pick<Findings, 'factor' | 'out' | 'get'>;
  /** What a server has loaded, by its name. */
  readonly shelfOf: (server: string) => Shelf;
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
  readonly #findings: LiveTargetOptions['findings'];
  readonly #shelfOf: LiveTargetOptions['shelfOf'];
  readonly #mostKeys: () => number;
  readonly #leases = new PassingMap<number, Lease>();
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

  constructor(target: Target, { paceOf, findings, shelfOf, mostKeys }: LiveTargetOptions) {
    this.target = target;
    this.lot = fnv1a(target.incarnation);
    this.#paceOf = paceOf;
    this.#findings = findings;
    this.#shelfOf = shelfOf;
    this.#mostKeys = mostKeys;
    this.busy = new BusyLimit(() => this.target.capacity);
  }

  /** Requests that run there by our own count, other replicas' included. */
  get running(): number {
    return this.#leases.size + this.#others;
  }

  /** The same of all models of its server, where those share it and are loaded when asked for. */
  runningFor({ mustLoad }: Warm): number {
    const { shelf: place } = this.target;
    if (mustLoad !== true || place === null) return this.running;
    return Math.max(this.running, this.#shelfOf(place.server).running + this.#others);
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

  /** How many keys of what is looked for are here; a model is here, too, while it is being loaded. */
  match({ keys, mustLoad }: Warm, now: number): number {
    if (mustLoad !== true) return this.warm.match(keys);
    const { shelf: place } = this.target;
    if (place === null) return keys.length;
    const told = this.#findings.get(this.target.incarnation, 'models', now)?.reason;
    if (told === 'model_loaded') return keys.length;
    const usedAt = this.#shelfOf(place.server).usedAt(place.model) ?? -Infinity;
    return now - usedAt < (told === undefined ? place.keepMs : LIST_AGE_MS) ? keys.length : 0;
  }

  /** Would a request have to wait until its model is loaded here? @param matched - What `match` says of it. */
  isCold({ mustLoad }: Warm, matched: number): boolean {
    const { shelf: place } = this.target;
    if (mustLoad !== true || place === null) return false;
    return matched === 0 || this.#shelfOf(place.server).isLoading(place.model);
  }

  /** It counts as load from now on; that it was sent, `send` says. */
  hold(work: Work, now: number, expiresAt: number): Lease {
    const warm = work.warm ?? NOTHING_WARM;
    const matched = this.match(warm, now);
    const lease = new Lease(work, expiresAt, matched, this.isCold(warm, matched));
    if (warm.mustLoad === true) this.#useModel(lease, now);
    else this.warm.use(warm.keys, this.#keysAtMost());
    this.#leases.set(lease.id, lease);
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
    this.#modelAnswered(lease, now);
    this.#speeds.get(lease.kind)?.firstToken(lease, now);
  }

  /** Ends a lease once; a second word on it changes nothing. */
  end(lease: Lease, outcome: Outcome, now: number): void {
    if (lease.isOver) return;
    const running = this.running;
    this.#drop(lease);
    // Nothing came of it: only what was known before is still taken to be warm there.
    if (outcome.kind === 'served') this.#modelAnswered(lease, now);
    else if (lease.firstAt === null) this.#takeBack(lease);
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
    for (const lease of this.#leases.values()) {
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

  #useModel(lease: Lease, now: number): void {
    const { shelf: place } = this.target;
    if (place === null) return;
    const shelf = this.#shelfOf(place.server);
    shelf.use(place.model, now, place.most);
    if (lease.warmBefore === 0) shelf.load(place.model);
    shelf.running += 1;
    lease.shelf = shelf;
  }

  #modelAnswered({ shelf }: Lease, now: number): void {
    const { shelf: place } = this.target;
    if (shelf === null || place === null) return;
    shelf.use(place.model, now, place.most);
    shelf.loaded(place.model);
  }

  #takeBack({ warm, warmBefore, isCold, shelf }: Lease): void {
    const { shelf: place } = this.target;
    if (warm.mustLoad !== true) this.warm.drop(warm.keys, warmBefore);
    // Others may still wait for the same load.
    else if (isCold && place !== null && !this.#hasCold()) shelf?.forget(place.model);
  }

  #hasCold(): boolean {
    for (const { isCold } of this.#leases.values()) if (isCold) return true;
    return false;
  }

  #keysAtMost(): number {
    return Math.min(this.target.warmRoom ?? Infinity, this.#mostKeys());
  }

  #drop(lease: Lease): void {
    lease.isOver = true;
    this.#leases.take(lease.id);
    if (lease.shelf !== null) lease.shelf.running -= 1;
    this.#speeds.get(lease.kind)?.drop(lease);
  }
}
