/** A day or month of a zone. */
export interface Period {
  /** The local date: `2028-02-29` or `2028-02`. */
  readonly id: string;
  /** Unix milliseconds; `end` is the first that is not in it any more. */
  readonly start: number;
  readonly end: number;
}

type Unit = 'day' | 'month';

const DAY_MS = 86_400_000;
/** No zone is farther from UTC. */
const FARTHEST_S = 26 * 3600;
const KNOWN = 500;
const KNOWN_STARTS = 5000;

/** The period of the last question of each unit and zone: nearly every question is about the same one. */
const last = new Map<string, Period>();
/** Finding a start asks the calendar some twenty times, and a report of a year has hundreds of them. */
const starts = new Map<string, number>();
const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * The day or month of `zone` (an IANA name) that `now` (unix ms) lies in. A day is 23 or 25 hours long where clocks change, and
 * begins at 01:00 where midnight is left out. Throws `RangeError` for a zone that nobody knows.
 */
export function periodAt(now: number, unit: Unit, zone = 'UTC'): Period {
  const name = `${unit} ${zone}`;
  const known = last.get(name);
  if (known !== undefined && known.start <= now && now < known.end) return known;
  const period = zone === 'UTC' ? periodOf(ordinalUtc(now, unit), unit, startUtc) : zoned(now, unit, zone);
  if (last.size >= KNOWN) last.clear();
  last.set(name, period);
  return period;
}

/** When a date (`2028-02-29`) begins in `zone`, unix ms. Throws `RangeError` for a zone that nobody knows. */
export function startOfDay(date: string, zone = 'UTC'): number {
  const ordinal = Date.parse(`${date}T00:00:00Z`) / DAY_MS;
  return zone === 'UTC' ? startUtc(ordinal, 'day') : startIn(ordinal, 'day', zone);
}

/** The periods that begin in `[from, to)`, and the one that `from` lies in, in order. */
export function periodsBetween(from: number, to: number, unit: Unit, zone?: string): readonly Period[] {
  const periods: Period[] = [];
  for (let at = from; at < to;) {
    const period = periodAt(at, unit, zone);
    periods.push(period);
    at = period.end;
  }
  return periods;
}

/** Is this a zone that is known here? */
export function isZone(name: string): boolean {
  try {
    assertZone(name);
    return true;
  } catch {
    return false;
  }
}

/** Throws `RangeError` for a zone that nobody knows. */
export function assertZone(zone: string): void {
  if (zone !== 'UTC') formatOf(zone);
}

/** Days since 1970, or months since year 0: whole numbers in the order of the calendar. */
type Start = (ordinal: number, unit: Unit) => number;

function periodOf(ordinal: number, unit: Unit, startOf: Start): Period {
  const id = new Date(startUtc(ordinal, unit)).toISOString().slice(0, unit === 'day' ? 10 : 7);
  return { id, start: startOf(ordinal, unit), end: startOf(ordinal + 1, unit) };
}

function zoned(now: number, unit: Unit, zone: string): Period {
  const startOf: Start = (ordinal) => startIn(ordinal, unit, zone);
  let ordinal = ordinalIn(now, unit, zone);
  let period = periodOf(ordinal, unit, startOf);
  // Where a clock went back across midnight, one date comes twice: all of it belongs to the date that began first.
  for (; now >= period.end; period = periodOf(ordinal, unit, startOf)) ordinal += 1;
  for (; now < period.start; period = periodOf(ordinal, unit, startOf)) ordinal -= 1;
  return period;
}

function ordinalUtc(ms: number, unit: Unit): number {
  if (unit === 'day') return Math.floor(ms / DAY_MS);
  const date = new Date(ms);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

function startUtc(ordinal: number, unit: Unit): number {
  return unit === 'day' ? ordinal * DAY_MS : Date.UTC(Math.floor(ordinal / 12), ordinal % 12, 1);
}

function ordinalIn(ms: number, unit: Unit, zone: string): number {
  const parts = formatOf(zone).formatToParts(ms);
  const value = (type: string): number => Number(parts.find((part) => part.type === type)?.value);
  const [year, month, day] = [value('year'), value('month'), value('day')];
  return unit === 'day' ? Date.UTC(year, month - 1, day) / DAY_MS : year * 12 + month - 1;
}

function startIn(ordinal: number, unit: Unit, zone: string): number {
  const name = `${ordinal} ${unit} ${zone}`;
  const known = starts.get(name);
  if (known !== undefined) return known;
  if (starts.size >= KNOWN_STARTS) starts.clear();
  const found = findStart(ordinal, unit, zone);
  starts.set(name, found);
  return found;
}

/** The first second whose local date is that or later: a date may be left out, and a day need not begin at midnight. */
function findStart(ordinal: number, unit: Unit, zone: string): number {
  const middle = Math.floor(startUtc(ordinal, unit) / 1000);
  let [before, start] = [middle - FARTHEST_S, middle + FARTHEST_S];
  while (start - before > 1) {
    const at = Math.floor((before + start) / 2);
    if (ordinalIn(at * 1000, unit, zone) >= ordinal) start = at;
    else before = at;
  }
  return start * 1000;
}

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
      timeZone: zone,
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
    });
    if (formats.size >= KNOWN) formats.clear();
    formats.set(zone, format);
  }
  return format;
}
