import { type Period, periodAt } from '../../lib/calendar/calendar-period.ts';
import type { BudgetRecord } from '../../core/directory.ts';

const HOUR_MS = 3_600_000;
/** Shorter than half of any period. */
const HALF_MS = { day: 11 * HOUR_MS, month: 14 * 24 * HOUR_MS };

/**
 * The period that a counter stands for, by the time that it has left. The middle of that period decides, so that a clock
 * that differs from the store's takes no counter for that of the next or the last period.
 */
export function periodOfCounter(time: number, resetMs: number, unit: BudgetRecord['period'], zone: string): Period {
  return periodAt(resetMs > 0 ? time + resetMs - HALF_MS[unit] : time, unit, zone);
}
