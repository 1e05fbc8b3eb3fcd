import type { Amounts, LimitLine } from '../core/limit.ts';
import { assertZone } from '../lib/calendar/calendar-period.ts';

/** Throws `RangeError` for what is not a whole number from 0 to 2^53 - 1. */
export function assertWhole(value: number, name: string): void {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${name} is not a whole number: ${value}`);
}

/** Throws `RangeError` when a store could not count these exactly. */
export function assertAmounts(amounts: Amounts): void {
  assertWhole(amounts.requests, 'requests');
  assertWhole(amounts.tokens, 'tokens');
  assertWhole(amounts.spend ?? 0, 'spend');
}

/** Throws `RangeError` for a limit or a window that a store could not keep exactly. */
export function assertLines(lines: readonly LimitLine[]): void {
  for (const { limit, window } of lines) {
    assertWhole(limit, 'limit');
    if (window.kind === 'sliding') {
      assertWhole(window.seconds, 'window');
      if (window.seconds === 0) throw new RangeError('window is empty');
    }
    if (window.kind === 'calendar' && window.zone !== undefined) assertZone(window.zone);
  }
}
