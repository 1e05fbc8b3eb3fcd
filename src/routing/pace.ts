import { DecayedLine } from '../lib/decay/decayed-line.ts';
import { DecayedMean } from '../lib/decay/decayed-mean.ts';
import { DecayedRatio } from '../lib/decay/decayed-ratio.ts';

/** How long the usual is remembered, milliseconds. */
const MEMORY_MS = 120_000;
/** How old the comparison of peers may be, milliseconds. */
const FRESH_MS = 50;
/** What is expected sooner than this is as good as at once, milliseconds. */
const LEAST_MS = 1;

/** What the comparison reads of one target: observed over expected time, 1 = as usual; null = nothing seen. */
export interface Paced {
  answerPace(now: number): number | null;
  tokenPace(now: number): number | null;
}

/**
 * What is usual for one kind of work among targets of one group. Of streams the wait for the first token is measured, which
 * the prompt explains in part; of whole answers all of the time, which their length explains. Times are milliseconds.
 */
export class Pace {
  readonly #line = new DecayedLine(MEMORY_MS);
  readonly #output = new DecayedMean(MEMORY_MS);
  readonly #tokens = new DecayedRatio(MEMORY_MS);
  readonly #peers = new Set<Paced>();
  #at = -Infinity;
  #answer: number | null = null;
  #token: number | null = null;

  join(peer: Paced): void {
    this.#peers.add(peer);
  }

  leave(peer: Paced): void {
    this.#peers.delete(peer);
  }

  /** It took so long for something of that size: tokens of the prompt, or of the answer. */
  saw(size: number, ms: number, now: number): void {
    this.#line.add(size, ms, now);
  }

  /** An answer of so many tokens is over. */
  answered(tokens: number, now: number): void {
    this.#output.add(tokens, now);
  }

  /** Tokens after the first took so long together. */
  sawTokens(ms: number, tokens: number, now: number): void {
    this.#tokens.add(ms, tokens, now);
  }

  /** Milliseconds a token after the first, on average in the group; null before anything was seen. */
  get tokenMs(): number | null {
    return this.#tokens.value;
  }

  /** The usual time for that size; null before anything was seen. */
  expected(size: number): number | null {
    const seen = this.#line.at(size);
    return seen === null ? null : Math.max(LEAST_MS, seen);
  }

  /** Tokens of the usual answer; null before anything was seen. */
  get outputTokens(): number | null {
    return this.#output.value;
  }

  /** How long an answer will probably be that may have `most` tokens. @param otherwise - Where no answer was seen. */
  likelyOutput(most: number, otherwise = most): number {
    return Math.min(most, this.#output.value ?? otherwise);
  }

  /** What is usual among the peers: the lower median, so that of two the faster is the measure. */
  usual(now: number): { readonly answer: number | null; readonly token: number | null } {
    if (now - this.#at >= FRESH_MS) {
      this.#at = now;
      this.#answer = lowerMedian([...this.#peers].map((peer) => peer.answerPace(now)));
      this.#token = lowerMedian([...this.#peers].map((peer) => peer.tokenPace(now)));
    }
    return { answer: this.#answer, token: this.#token };
  }
}

function lowerMedian(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null).toSorted((a, b) => a - b);
  return known[Math.floor((known.length - 1) / 2)] ?? null;
}
