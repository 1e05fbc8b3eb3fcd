import type { SurgePolicy } from '../../core/surge.ts';

/** The levels that hold now, lowest first; each with the time since which the rate is low enough to leave it, or null. */
export type HeldLevels = readonly (number | null)[];

/** None: as usual. */
export const NO_LEVEL: HeldLevels = [];

/**
 * The levels that hold after a look at the rate; their number is the level. One is entered at once above its threshold and
 * left when the rate was below `leaveBelow` of it for `leaveAfterMs`. A higher rate never gives a lower level.
 * @param rate - Requests a second. `now`: monotonic milliseconds.
 */
export function nextLevel(
  held: HeldLevels,
  { rate, now }: { readonly rate: number; readonly now: number },
  { levels, leaveBelow, leaveAfterMs }: Pick<SurgePolicy, 'levels' | 'leaveBelow' | 'leaveAfterMs'>,
): HeldLevels {
  const next: (number | null)[] = [];
  for (const [index, { above }] of levels.entries()) {
    const since = held[index];
    if (since === undefined && rate <= above) break;
    const lowSince = rate < above * leaveBelow ? (since ?? now) : null;
    if (lowSince !== null && now - lowSince >= leaveAfterMs) break;
    next.push(lowSince);
  }
  return next;
}
