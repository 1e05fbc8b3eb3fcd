import type { SurgeLevel, SurgePolicy } from '../../core/surge.ts';
import type { ConfigDocument } from '../schema/document.ts';
import { resolveAlias } from './resolve-alias.ts';

/** Thresholds of levels that name none. */
const USUAL_ABOVE = [8000, 10_000, 12_000];

/** The threshold of a level, requests a second; undefined where it must be said. */
export function surgeAbove({ above }: { readonly above?: number | undefined }, index: number): number | undefined {
  return above ?? USUAL_ABOVE[index];
}

/** Each level with the rules of those below it: the stricter n, the higher one's light model. */
export function compileSurge({ surge, aliases }: Pick<ConfigDocument, 'surge' | 'aliases'>): SurgePolicy | null {
  if (surge === undefined) return null;
  const levels: SurgeLevel[] = [];
  for (const [index, level] of surge.levels.entries()) {
    const { refuse_n: refuseN, divert, buffer_streams: buffer } = level.actions;
    const below = levels.at(-1);
    const largest = Math.min(refuseN?.above ?? Infinity, below?.largestN ?? Infinity);
    levels.push({
      above: surgeAbove(level, index) ?? Infinity,
      largestN: largest === Infinity ? null : largest,
      divert:
        divert === undefined
          ? (below?.divert ?? null)
          : { share: divert.share, model: resolveAlias(aliases, divert.model) ?? divert.model },
      bufferStreams: buffer || (below?.bufferStreams ?? false),
    });
  }
  return {
    levels,
    leaveBelow: surge.leave_below,
    leaveAfterMs: surge.leave_after,
    exemptTiers: new Set(surge.exempt_tiers),
  };
}
