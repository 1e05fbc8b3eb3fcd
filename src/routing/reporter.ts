import type { Began, Board } from './board.ts';
import type { Breakers } from './breakers.ts';
import type { Work } from './lease.ts';
import type { Outcome, Target } from './target.ts';

/** Which time of an answer is judged for a kind of work, and how long it may be, milliseconds; null = it is not judged. */
export interface SlowRule {
  readonly signal: 'first_token' | 'total';
  readonly limitMs: number;
}

export interface ReporterOptions {
  readonly board: Board;
  readonly breakers: Breakers;
  readonly slow: (isStream: boolean) => SlowRule | null;
}

/** Takes the course of tries to where decisions look for it. Times are milliseconds of one monotonic clock. */
export class Reporter {
  readonly #board: Board;
  readonly #breakers: Breakers;
  readonly #slow: ReporterOptions['slow'];

  constructor({ board, breakers, slow }: ReporterOptions) {
    this.#board = board;
    this.#breakers = breakers;
    this.#slow = slow;
  }

  /** A try is decided on; in the same synchronous step as the decision, so that the next decision sees it. */
  hold(target: Target, work: Work, now: number, expiresAt: number): Began {
    this.#breakers.picked(target, work.kind, now);
    return this.#board.hold(target, work, now, expiresAt);
  }

  /** The target gets it. */
  send(began: Began, now: number): void {
    this.#board.send(began, now);
  }

  /** Both at once. */
  begin(target: Target, work: Work, now: number, expiresAt: number): Began {
    const began = this.hold(target, work, now, expiresAt);
    this.send(began, now);
    return began;
  }

  /** The first piece of the answer that means something. */
  firstToken(began: Began, now: number): void {
    const { lease } = began;
    if (lease.isOver || lease.firstAt !== null) return;
    this.#board.firstToken(began, now);
    const rule = this.#slow(lease.stream);
    if (rule?.signal === 'first_token' && !lease.isCold)
      this.#judge(began, now - (lease.startedAt ?? now) > rule.limitMs, now);
  }

  end(began: Began, outcome: Outcome, now: number): void {
    const { lease, live } = began;
    if (lease.isOver) return;
    this.#board.end(began, outcome, now);
    if (outcome.kind === 'failed') this.#breakers.note(live.target, lease.asked, 'error', now, lease.startedAt ?? now);
    if (outcome.kind !== 'served') return;
    const rule = this.#slow(lease.stream);
    // Judged at its first token already.
    if (rule?.signal === 'first_token' && lease.firstAt !== null && !lease.isCold) return;
    // Loading a model takes its time; that it was loaded is good.
    this.#judge(began, rule !== null && !lease.isCold && now - (lease.startedAt ?? now) > rule.limitMs, now);
  }

  #judge({ live, lease }: Began, isSlow: boolean, now: number): void {
    this.#breakers.note(live.target, lease.asked, isSlow ? 'slow' : 'good', now, lease.startedAt ?? now);
  }
}
