import { DecayedLine } from '../lib/decay/decayed-line.ts';
import type { Target } from './target.ts';

/** How long the usual first token of a group is remembered, milliseconds. */
const MEMORY_MS = 120_000;
/** How old the comparison of peers may be, milliseconds. */
const FRESH_MS = 50;
/** A first token that is expected sooner than this is as good as at once, milliseconds. */
const LEAST_MS = 1;

/** What the comparison reads of a target: observed over expected time, 1 = as usual; null = nothing seen. */
export interface Paced {
  firstTokenPace(now: number): number | null;
  tokenPace(): number | null;
}

/** Targets of one group, and what is usual among them. Times are milliseconds. */
export class Pace {
  readonly #line = new DecayedLine(MEMORY_MS);
  readonly #peers = new Set<Paced>();
  #at = -Infinity;
  #usualFirst: number | null = null;
  #usualToken: number | null = null;

  join(peer: Paced): void {
    this.#peers.add(peer);
  }

  leave(peer: Paced): void {
    this.#peers.delete(peer);
  }

  /** A first token came; the size of its prompt explains a part of the wait. */
  saw(promptTokens: number, ms: number, now: number): void {
    this.#line.add(promptTokens, ms, now);
  }

  /** The usual wait for the first token of such a prompt; null before anything is known. */
  expected(promptTokens: number, prior: Target['prior']['firstTokenMs']): number | null {
    const seen = this.#line.at(promptTokens) ?? prior;
    return seen === null ? null : Math.max(LEAST_MS, seen);
  }

  /** What is usual among the peers: the lower median, so that of two the faster is the measure. */
  usual(now: number): { readonly firstToken: number | null; readonly token: number | null } {
    if (now - this.#at >= FRESH_MS) {
      this.#at = now;
      this.#usualFirst = lowerMedian([...this.#peers].map((peer) => peer.firstTokenPace(now)));
      this.#usualToken = lowerMedian([...this.#peers].map((peer) => peer.tokenPace()));
    }
    return { firstToken: this.#usualFirst, token: this.#usualToken };
  }
}

function lowerMedian(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null).toSorted((a, b) => a - b);
  return known[Math.floor((known.length - 1) / 2)] ?? null;
}
