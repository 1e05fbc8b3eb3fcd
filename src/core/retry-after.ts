import type { HeaderList } from './http.ts';

/**
 * What `retry-after` says (RFC 9110: seconds, or a date), in milliseconds from now; null where it is not there or makes no
 * sense. Fractions of a second, which some servers send, are understood.
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
  return Number.isFinite(ms) ? Math.max(0, Math.ceil(ms)) : null;
}
