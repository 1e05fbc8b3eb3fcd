interface Period {
  readonly id: string;
  readonly end: number;
}

/** The period of the last question, with its start: nearly every question is about the same one. */
const last = new Map<'day' | 'month', { readonly start: number; readonly period: Period }>();

/** A UTC day or month: its name and where it ends (unix ms). */
export function periodAt(now: number, unit: 'day' | 'month'): Period {
  const known = last.get(unit);
  if (known !== undefined && known.start <= now && now < known.period.end) return known.period;
  const date = new Date(now);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  const period =
    unit === 'day'
      ? { id: date.toISOString().slice(0, 10), end: Date.UTC(year, month, day + 1) }
      : { id: date.toISOString().slice(0, 7), end: Date.UTC(year, month + 1, 1) };
  last.set(unit, { start: unit === 'day' ? Date.UTC(year, month, day) : Date.UTC(year, month, 1), period });
  return period;
}
