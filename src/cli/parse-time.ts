import { InvalidArgumentError } from 'commander';

/** A day of UTC or a moment, as Unix milliseconds. Throws `InvalidArgumentError`. */
export function parseTime(text: string): number {
  const time = /^\d{4}-\d\d-\d\d(?:T.+(?:Z|[+-]\d\d:\d\d))?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(time)) return time;
  throw new InvalidArgumentError('A time is written 2027-01-31 or 2027-01-31T00:00:00Z.');
}
