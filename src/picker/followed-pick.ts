import type { ResponseHead } from '../core/http.ts';
import { retryAfterMs } from '../core/retry-after.ts';
import type { Engine } from '../routing/engine.ts';
import type { Began } from '../routing/board.ts';
import type { Work } from '../routing/lease.ts';
import type { Outcome, Target } from '../routing/target.ts';
import { TokenCount } from './token-count.ts';

export interface FollowedPickOptions {
  readonly tries: Engine['tries'];
  /** Names the request. */
  readonly id: string;
  /** In the order in which the proxy tries them. */
  readonly targets: readonly Target[];
  readonly addresses: readonly string[];
  readonly work: Work;
  readonly now: () => number;
  /** When it counts as forgotten. */
  readonly expiresAt: number;
  /** Another endpoint served than the first of the list. */
  readonly onMoved: () => void;
}

/** Takes to the routing core what becomes of a pick: the proxy tells only who answered in the end. */
export class FollowedPick {
  readonly #options: FollowedPickOptions;
  readonly #tokens = new TokenCount();
  #began: Began | null;
  #isWell = false;
  #isWhole = false;

  constructor(options: FollowedPickOptions) {
    this.#options = options;
    const [first] = options.targets;
    this.#began = first === undefined ? null : this.#begin(first);
  }

  onResponseHead({ status, headers }: ResponseHead, served: string | null, seesBody: boolean): void {
    if (served !== null) this.#movedTo(served);
    if (status >= 400) {
      this.#end(outcomeOf(status, retryAfterMs(headers)));
      return;
    }
    this.#isWell = true;
    // What is not shown begins here at the latest, as far as we shall ever know.
    if (!seesBody) this.#firstToken();
  }

  onResponseBody(chunk: Buffer): void {
    if (!this.#isWell || chunk.length === 0) return;
    this.#firstToken();
    this.#tokens.add(chunk);
  }

  onResponseEnd(): void {
    this.#isWhole = true;
    this.#finish();
  }

  /** `seesBody` false: the end of the stream is the end of the answer. */
  close(seesBody: boolean): void {
    if (!seesBody) this.#isWhole = true;
    this.#finish();
  }

  #finish(): void {
    if (this.#isWell && this.#isWhole) this.#end({ kind: 'served', tokens: this.#tokens.count() });
    // Who broke it is not told.
    else this.#end({ kind: 'neutral' });
  }

  /** Those before it in the list failed, or the proxy would not have moved on. */
  #movedTo(address: string): void {
    const { addresses, targets, onMoved } = this.#options;
    const at = addresses.indexOf(address);
    if (at === 0) return;
    onMoved();
    this.#end(at === -1 ? { kind: 'neutral' } : { kind: 'failed' });
    for (const target of targets.slice(1, Math.max(1, at))) {
      this.#began = this.#begin(target);
      this.#end({ kind: 'failed' });
    }
    const target = targets[at];
    if (target !== undefined) this.#began = this.#begin(target);
  }

  #begin(target: Target): Began {
    const { tries, id, work, now, expiresAt } = this.#options;
    return tries.begin(id, target, work, now(), expiresAt);
  }

  #firstToken(): void {
    const { tries, work, now } = this.#options;
    if (this.#began !== null && work.stream) tries.firstToken(this.#began, now());
  }

  #end(outcome: Outcome): void {
    const began = this.#began;
    this.#began = null;
    if (began !== null) this.#options.tries.end(began, outcome, this.#options.now());
  }
}

/** 429 is a matter of room; other refusals of a request say nothing of who refuses. */
function outcomeOf(status: number, restMs: number | null): Outcome {
  if (status === 429) return { kind: 'busy', retryAfterMs: restMs === null ? null : Math.min(restMs, LONGEST_REST_MS) };
  return status < 500 ? { kind: 'neutral' } : { kind: 'failed' };
}

const LONGEST_REST_MS = 30_000;
