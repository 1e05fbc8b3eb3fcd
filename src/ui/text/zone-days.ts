import { dayAfter, isoDay } from './format.ts';

const DAY_MS = 86_400_000;
const QUARTER_MS = 900_000;

/** When a day begins in a zone, Unix milliseconds: the first quarter of an hour that is of that day. */
export function startOfDay(day: string, zone: string): number {
  const middle = Date.parse(`${day}T12:00:00Z`);
  // No zone is farther than 14 hours from UTC.
  let [before, at] = [middle - 2 * DAY_MS, middle + DAY_MS];
  while (at - before > QUARTER_MS) {
    const between = before + Math.floor((at - before) / 2 / QUARTER_MS) * QUARTER_MS;
    if (isoDay(between, zone) < day) before = between;
    else at = between;
  }
  return at;
}

/** Starts of the days from `from`, included, to `to`, excluded. */
export function dayStarts(from: string, to: string, zone: string): readonly number[] {
  const starts: number[] = [];
  for (let day = from; day < to; day = dayAfter(day, 1)) starts.push(startOfDay(day, zone));
  return starts;
}
