import type { HeaderList } from './http.ts';

/** Quotas of a day end by then; a longer wait is a mistake that would lock clients out. */
const LONGEST_MS = 86_400_000;

/**
 * What `retry-after` says (RFC 9110: seconds, or a date), in milliseconds from now; null where it is not there or makes no
 * sense. Fractions of a second, which some servers send, are understood; more than a day is taken for a day.
 * @param time - Unix milliseconds.
 */
export function retryAfterMs(headers: HeaderList, time: number = Date.now()): number | null {
  const value = headers.get('retry-after')?.trim() ?? '';
  if (value === '') return null;
  const ms = /^\d+(?:\.\d+)?$/.test(value)
    ? Number(value) * 1000
    : /[a-z]/i.test(value)
      ? Date.parse(value) - time
      : NaN;
  return Number.isFinite(ms) ? Math.min(Math.max(0, Math.ceil(ms)), LONGEST_MS) : null;
}
