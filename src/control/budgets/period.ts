import type { BudgetRecord } from '../../core/directory.ts';

type Unit = BudgetRecord['period'];

/** A day or month of a zone. */
export interface Period {
  /** `2026-03-31` or `2026-03`. */
  readonly name: string;
  /** Its end, Unix milliseconds. */
  readonly end: number;
}

const HOUR_MS = 3_600_000;
/** No period is longer: a month of 31 days with an hour more. */
const LONGEST_MS = { day: 26 * HOUR_MS, month: 31 * 24 * HOUR_MS + 2 * HOUR_MS };
/** Shorter than half of any period. */
const HALF_MS = { day: 11 * HOUR_MS, month: 14 * 24 * HOUR_MS };
/** Formatters cost far more to make than to use. */
const formats = new Map<string, Intl.DateTimeFormat>();
const MOST_FORMATS = 64;

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  if (formats.size >= MOST_FORMATS) formats.clear();
  // This locale writes dates as ISO 8601 does.
  const made = new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' });
  formats.set(zone, made);
  return made;
}

function nameOf(time: number, unit: Unit, zone: string): string {
  const date = formatOf(zone).format(time);
  return unit === 'day' ? date : date.slice(0, 7);
}

/** The period of `zone` that `time` (Unix ms) lies in. Names grow with time, so its end is found by halving. */
export function periodAt(time: number, unit: Unit, zone: string): Period {
  const name = nameOf(time, unit, zone);
  let within = time;
  let after = time + LONGEST_MS[unit];
  while (after - within > 1) {
    const middle = Math.floor((within + after) / 2);
    if (nameOf(middle, unit, zone) === name) within = middle;
    else after = middle;
  }
  return { name, end: after };
}

/**
 * The period that a counter stands for, by the time that it has left. The middle of that period decides, so that a clock
 * that differs from the store's takes no counter for that of the next or the last period.
 */
export function periodOfCounter(time: number, resetMs: number, unit: Unit, zone: string): Period {
  return periodAt(resetMs > 0 ? time + resetMs - HALF_MS[unit] : time, unit, zone);
}
