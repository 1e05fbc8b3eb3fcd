import type { Shot } from '../rig/load.ts';

/** When requests were sent, and whether the one backend was the first that was asked; in order of time. */
export type Picks = readonly { readonly at: number; readonly isThere: boolean }[];

/** Requests of a spell: fewer say little. */
export const SPELL = 80;
const RETURN_SPELL_MS = 2000;
const STEP_MS = 50;
/** Its share is gone below so much of a fair one; one of four then gets less than a tenth of all. */
const GONE = 0.4;

/** A request that was tried more than once was with the one backend that fails first. */
export function picksOf(shots: readonly Shot[], backend: string): Picks {
  return shots
    .map(({ startedAt, headers }) => ({
      at: startedAt,
      isThere: Number(headers['x-tokenlat-attempts'] ?? 1) > 1 || headers['x-tokenlat-backend'] === backend,
    }))
    .toSorted((a, b) => a.at - b.at);
}

/** Its share of the requests in that time, 0..1; 0 of none. */
export function shareOf(picks: Picks, from: number, to: number): number {
  const there = between(picks, from, to);
  return there.length === 0 ? 0 : there.filter(({ isThere }) => isThere).length / there.length;
}

/** The first spell in which its share is gone. */
export interface Gone {
  /** Milliseconds from the fault to its begin and to its end. */
  readonly after: number;
  readonly until: number;
  /** How many picks there are up to its end. */
  readonly end: number;
}

/** @param picks - Of the fault alone. */
export function gone(picks: Picks, { from, fair }: { readonly from: number; readonly fair: number }): Gone | null {
  let there = 0;
  for (const [at, last] of picks.entries()) {
    there += Number(last.isThere);
    const first = picks[at + 1 - SPELL];
    if (first === undefined) continue;
    if (there < SPELL * GONE * fair) return { after: first.at - from, until: last.at - from, end: at + 1 };
    there -= Number(first.isThere);
  }
  return null;
}

/** Those of that time. */
export function between(picks: Picks, from: number, to: number): Picks {
  return picks.filter(({ at }) => at >= from && at < to);
}

/** Milliseconds until the end of the first spell in which it got at least `share` of the requests. */
export function back(picks: Picks, from: number, share: number): number | null {
  const last = picks.at(-1)?.at ?? 0;
  for (let at = from; at + RETURN_SPELL_MS <= last; at += STEP_MS)
    if (shareOf(picks, at, at + RETURN_SPELL_MS) >= share) return at + RETURN_SPELL_MS - from;
  return null;
}
