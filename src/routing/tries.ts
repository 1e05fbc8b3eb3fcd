import { PassingMap } from '../lib/passing-map/passing-map.ts';
import type { Began } from './board.ts';
import type { Work } from './lease.ts';
import type { Reporter } from './reporter.ts';
import type { Outcome, Target } from './target.ts';

/**
 * Tries by the request that they belong to. What was decided on counts as load at once, though the try begins a little later:
 * else all decisions in between would fall on the same target.
 */
export class Tries {
  readonly #reporter: Reporter;
  readonly #decided = new PassingMap<string, Began>();

  constructor(reporter: Reporter) {
    this.#reporter = reporter;
  }

  /** Requests that were decided on and have not begun. */
  get waiting(): number {
    return this.#decided.size;
  }

  /** A request will go there. `expiresAt`: when it counts as forgotten. */
  decided(request: string, target: Target, work: Work, now: number, expiresAt: number): void {
    this.drop(request, now);
    this.#decided.set(request, this.#reporter.hold(target, work, now, expiresAt));
  }

  /** A try begins, there or elsewhere. */
  begin(request: string, target: Target, work: Work, now: number, expiresAt: number): Began {
    const held = this.#decided.get(request);
    if (held === undefined || held.lease.isOver || held.live.target.incarnation !== target.incarnation) {
      this.drop(request, now);
      return this.#reporter.begin(target, work, now, expiresAt);
    }
    this.#decided.take(request);
    held.lease.outputTokens = work.outputTokens;
    held.lease.expiresAt = expiresAt;
    this.#reporter.send(held, now);
    return held;
  }

  firstToken(began: Began, now: number): void {
    this.#reporter.firstToken(began, now);
  }

  end(began: Began, outcome: Outcome, now: number): void {
    this.#reporter.end(began, outcome, now);
  }

  /** The request is over; what was decided and never begun says nothing of its target. */
  drop(request: string, now: number): void {
    const held = this.#decided.take(request);
    if (held !== undefined) this.#reporter.end(held, { kind: 'neutral' }, now);
  }
}
