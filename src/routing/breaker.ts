import type { BreakerPolicy } from '../core/breaker-policy.ts';
import { SecondCounts } from '../lib/decay/second-counts.ts';
import { wilsonLower } from './wilson.ts';

export type BreakerState = 'closed' | 'soft' | 'hard' | 'recovering';

/** What a try says to a breaker. Refusals for lack of room and the client's own faults say nothing: they are not passed on. */
export type BreakerSign = 'good' | 'slow' | 'error';

const GOOD = 0;
const SLOW = 1;
const ERROR = 2;
const KIND = { good: GOOD, slow: SLOW, error: ERROR } as const;
const KEPT_SECONDS = 60;
/** A look at the last seconds only finds a sudden fault early. */
const SUDDEN_SECONDS = 5;
/**
 * Standard deviations. Asked at every error, for hours: at a steady 8 % of errors, with a limit of 10 %, these open it by
 * mistake in about two of a hundred spells of ten minutes.
 */
const DOUBT = 3.7;
const SUDDEN_DOUBT = 4.7;
/** While probes go well, the next one need not wait. */
const NEXT_PROBE_MS = 1000;

/** Breaker of one target and one kind of work. Times are milliseconds of one monotonic clock. */
export class Breaker {
  readonly #policyOf: () => BreakerPolicy;
  readonly #onChange: (state: BreakerState, reason: string) => void;
  readonly #counts = new SecondCounts(KEPT_SECONDS, 3);
  #state: BreakerState = 'closed';
  /** When the state, or the step of the recovery, began. */
  #since = 0;
  #step = 0;
  #row = 0;
  #goodRow = 0;
  #probedAt = -Infinity;
  #failedAt = -Infinity;
  /** Adds up the share until it is a whole request. */
  #turn = 0;
  /** Probes since the last word on any of them. */
  #unanswered = 0;
  /** Is it open by another's word alone? */
  #adopted = false;

  /** @param policy - Read anew each time: the configuration may change. */
  constructor(policy: () => BreakerPolicy, onChange: (state: BreakerState, reason: string) => void = () => {}) {
    this.#policyOf = policy;
    this.#onChange = onChange;
  }

  get #policy(): BreakerPolicy {
    return this.#policyOf();
  }

  /** The state at `now`. */
  state(now: number): BreakerState {
    const { hard, stepMs, steps } = this.#policy;
    if (this.#state === 'hard' && now - this.#since >= hard.openMs) this.#enter('soft', 'its rest is over', now);
    while (this.#state === 'recovering' && now - this.#since >= stepMs) {
      this.#since += stepMs;
      this.#step += 1;
      if (this.#step >= steps.length) this.#enter('closed', 'it answers again', now);
    }
    return this.#state;
  }

  /** The share of its usual traffic that it may get, 0..1. */
  share(now: number): number {
    const state = this.state(now);
    switch (state) {
      case 'closed':
        return 1;
      case 'soft':
        return this.#policy.soft.probeShare;
      case 'recovering':
        return this.#policy.steps[this.#step] ?? 1;
      case 'hard':
        return 0;
      default:
        return state satisfies never;
    }
  }

  /** Is it time to ask it whatever its share says? */
  probeIsDue(now: number): boolean {
    const { probeEveryMs } = this.#policy.soft;
    const every = this.#goodRow > 0 ? Math.min(NEXT_PROBE_MS, probeEveryMs) : probeEveryMs;
    return this.state(now) === 'soft' && now - Math.max(this.#probedAt, this.#since) >= every;
  }

  /**
   * May the next request go there, by the share? Evenly, every twentieth for 5 %: by chance, few at a time would sometimes be
   * many. Not while as many probes as would do are still without an answer: where nothing comes back, they would only pile up.
   * @param fair - Its part of all requests that come by. On the way back it stands among the others, who have theirs.
   */
  takesTurn(now: number, fair = 1): boolean {
    const share = this.share(now);
    if (this.#state === 'soft' && this.#unanswered >= this.#policy.goodProbes) return false;
    this.#turn += this.#state === 'soft' ? share * fair : share;
    if (this.#turn < 1) return false;
    this.#turn -= 1;
    return true;
  }

  /** A request goes there now. */
  picked(now: number): void {
    if (this.#state !== 'soft') return;
    this.#probedAt = now;
    this.#unanswered += 1;
  }

  /** How long until somebody may be sent there again, milliseconds. */
  restMs(now: number): number {
    const { hard, soft } = this.#policy;
    return this.state(now) === 'hard' ? Math.max(0, this.#since + hard.openMs - now) : soft.probeEveryMs;
  }

  /** @param startedAt - When the try began. */
  note(sign: BreakerSign, now: number, startedAt = now): void {
    const state = this.state(now);
    this.#counts.add(KIND[sign], now);
    this.#unanswered = 0;
    if (sign === 'error') {
      this.#row += 1;
      this.#failedAt = now;
    }
    // What began before the last error does not end a row of them: streams of better times end well for long.
    else if (startedAt >= this.#failedAt) this.#row = 0;
    this.#goodRow = sign === 'good' ? this.#goodRow + 1 : 0;
    switch (state) {
      case 'closed':
        this.#whileClosed(sign, now);
        break;
      case 'soft':
        this.#whileSoft(sign, now);
        break;
      case 'recovering':
        if (sign !== 'good' && (this.#row >= 2 || this.#isBad(this.#sinceStep(now), now) !== null))
          this.#enter('soft', 'it failed again', now);
        break;
      case 'hard':
        break;
      default:
        state satisfies never;
    }
  }

  /** When the state began. */
  get since(): number {
    return this.#since;
  }

  /** Did it open by what was seen here? */
  get isOwn(): boolean {
    return !this.#adopted;
  }

  /** Another replica opened its breaker: what it saw holds here as well. Tells whether that changed anything. */
  adopt(state: 'soft' | 'hard', now: number): boolean {
    const isWorse = this.state(now) === 'closed' || this.#state === 'recovering' || state === 'hard';
    if (!isWorse || this.#state === state) return false;
    this.#enter(state, 'another replica opened it', now);
    this.#adopted = true;
    return true;
  }

  /** The other replica took its word back. */
  release(now: number): void {
    if (!this.#adopted || this.state(now) === 'closed' || this.#state === 'recovering') return;
    this.#enter('recovering', 'it answers another replica again', now);
  }

  /** Nobody will ask it any more. */
  forget(now: number): void {
    if (this.state(now) !== 'closed') this.#enter('closed', 'it is gone', now);
  }

  #whileClosed(sign: BreakerSign, now: number): void {
    if (sign === 'good') return;
    if (sign === 'error' && this.#isHard(now)) return this.#enter('hard', 'most requests failed', now);
    if (this.#row >= this.#policy.soft.inARow) return this.#enter('soft', `${this.#row} errors one after another`, now);
    const { windowMs } = this.#policy.soft;
    const why = this.#isBad(windowMs / 1000, now) ?? this.#isBad(SUDDEN_SECONDS, now, SUDDEN_DOUBT);
    if (why !== null) this.#enter('soft', why, now);
  }

  #whileSoft(sign: BreakerSign, now: number): void {
    if (sign === 'error' && this.#isHard(now)) return this.#enter('hard', 'most requests failed', now);
    if (this.#goodRow >= this.#policy.goodProbes) this.#enter('recovering', 'probes went well', now);
  }

  #isHard(now: number): boolean {
    const { windowMs, errorRate, errors } = this.#policy.hard;
    const { total, error } = this.#read(windowMs / 1000, now);
    return error > errors && error > errorRate * total;
  }

  /** Why the last seconds are bad enough, or null. */
  #isBad(seconds: number, now: number, doubt = DOUBT): string | null {
    const { minimum, errorRate, slowRate } = this.#policy.soft;
    const { total, error, slow } = this.#read(seconds, now);
    if (total < minimum) return null;
    const whole = Math.max(1, Math.round(seconds));
    if (wilsonLower(error, total, doubt) > errorRate) return `${error} of ${total} failed in ${whole} s`;
    if (wilsonLower(slow, total, doubt) > slowRate) return `${slow} of ${total} were too slow in ${whole} s`;
    return null;
  }

  #sinceStep(now: number): number {
    return Math.max(1, Math.ceil((now - this.#since) / 1000));
  }

  #read(seconds: number, now: number): { readonly total: number; readonly error: number; readonly slow: number } {
    const sum = (kind: number): number => this.#counts.sum(kind, Math.round(seconds), now);
    const [good, slow, error] = [sum(GOOD), sum(SLOW), sum(ERROR)];
    return { total: good + slow + error, error, slow };
  }

  #enter(state: BreakerState, reason: string, now: number): void {
    this.#state = state;
    this.#adopted = false;
    this.#since = now;
    this.#step = 0;
    this.#goodRow = 0;
    this.#row = 0;
    this.#turn = 0;
    this.#unanswered = 0;
    if (state === 'recovering') this.#probedAt = -Infinity;
    // What opened it must not open it again once it has been paid for.
    if (state === 'closed' || state === 'recovering') this.#counts.clear();
    this.#onChange(state, reason);
  }
}
