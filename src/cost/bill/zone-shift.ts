import { byDay, type LedgerSums, NOTHING } from './ledger-days.ts';
import { sameTokens } from './reason.ts';

interface Tokens {
  readonly input: number;
  readonly output: number;
}

/** From UTC-12 to UTC+14, the nearest first. */
const STEP_MINUTES = 30;
const STEPS = 28;

/**
 * The zone, as minutes from UTC, whose days make a model's ledger equal to its bill where `utcOffsetMinutes` does not; null
 * when there is none. The first and the last day may differ: what belongs to them can lie outside of what was compared.
 */
export function zoneShift(
  billed: ReadonlyMap<string, Tokens>,
  stretches: ReadonlyMap<number, LedgerSums>,
  utcOffsetMinutes: number,
): { readonly utcOffsetMinutes: number; readonly explains: (day: string) => boolean } | null {
  const days = [...billed.keys()].toSorted();
  const now = byDay(stretches, utcOffsetMinutes);
  const fits = (ours: ReadonlyMap<string, LedgerSums>, day: string) =>
    sameTokens(billed.get(day) ?? NOTHING, ours.get(day) ?? NOTHING);
  const wrong = days.filter((day) => !fits(now, day));
  if (wrong.length === 0) return null;
  for (let step = 1; step <= STEPS; step += 1)
    for (const sign of [1, -1]) {
      const offset = utcOffsetMinutes + sign * step * STEP_MINUTES;
      const ours = byDay(stretches, offset);
      const inside = days.slice(1, -1).every((day) => fits(ours, day));
      const mended = wrong.some((day) => fits(ours, day) && (ours.get(day)?.events ?? 0) > 0);
      if (!inside || !mended) continue;
      const [first = '', last = ''] = [days[0], days.at(-1)];
      return { utcOffsetMinutes: offset, explains: (day) => fits(ours, day) || day <= first || day >= last };
    }
  return null;
}
