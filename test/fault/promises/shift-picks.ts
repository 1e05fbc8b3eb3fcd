import type { Shot } from '../rig/load.ts';

/** When requests were sent, and whether the one backend was the first that was asked; in order of time. */
export type Picks = readonly { readonly at: number; readonly isThere: boolean }[];

/** Short spells of few requests say little, milliseconds. */
const SPELL_MS = 1000;
const RETURN_SPELL_MS = 2000;
const STEP_MS = 50;

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
  const there = picks.filter(({ at }) => at >= from && at < to);
  return there.length === 0 ? 0 : there.filter(({ isThere }) => isThere).length / there.length;
}

/** Milliseconds from the fault to the end of the first second in which it got less than a tenth of its fair share. */
export function gone(
  picks: Picks,
  { from, to, fair }: { readonly from: number; readonly to: number; readonly fair: number },
): number | null {
  for (let at = from; at + SPELL_MS <= to; at += STEP_MS)
    if (shareOf(picks, at, at + SPELL_MS) < fair / 10) return at + SPELL_MS - from;
  return null;
}

/** Milliseconds until the end of the first spell in which it got at least `share` of the requests. */
export function back(picks: Picks, from: number, share: number): number | null {
  const last = picks.at(-1)?.at ?? 0;
  for (let at = from; at + RETURN_SPELL_MS <= last; at += STEP_MS)
    if (shareOf(picks, at, at + RETURN_SPELL_MS) >= share) return at + RETURN_SPELL_MS - from;
  return null;
}
