import { DAYS_KEPT_MS, HOURS_KEPT_MS, MAX_TOP } from '../spend-entry.ts';
import type { SpendEntry } from '../spend-entry.ts';
import { addEntry } from '../spend-rows.ts';
import type { SpendRows } from '../spend-rows.ts';

interface TopMember {
  readonly member: string;
  readonly cost: number;
}

/** The sums of one tenant's spending. Times are unix ms. */
export interface SpendSums {
  /** Adds an entry up (1) or takes it back (-1). */
  readonly add: (entry: SpendEntry, sign: 1 | -1) => void;
  readonly rows: (unit: 'hour' | 'day', start: number) => SpendRows;
  readonly top: (day: number, count: number) => readonly TopMember[];
  readonly prune: (now: number) => void;
}

/** Likewise `redis/lua/rollup.lua`. */
export function createSpendSums(): SpendSums {
  const periods: Readonly<Record<'hour' | 'day', Map<number, SpendRows>>> = { hour: new Map(), day: new Map() };
  const tops = new Map<number, TopMember[]>();

  const addTo = (unit: 'hour' | 'day', start: number, entry: SpendEntry, sign: 1 | -1): void => {
    const rows = periods[unit].get(start) ?? new Map();
    periods[unit].set(start, rows);
    addEntry(rows, entry, sign);
  };

  return {
    add: (entry, sign) => {
      addTo('hour', entry.hour * 1000, entry, sign);
      addTo('day', entry.day * 1000, entry, sign);
      if (entry.top === '') return;
      const others = (tops.get(entry.day * 1000) ?? []).filter(({ member }) => member !== entry.top);
      if (sign > 0) others.push({ member: entry.top, cost: entry.sums[4] });
      tops.set(entry.day * 1000, others.toSorted((a, b) => b.cost - a.cost).slice(0, MAX_TOP));
    },
    rows: (unit, start) => new Map(periods[unit].get(start)),
    top: (day, count) => (tops.get(day) ?? []).slice(0, count),
    prune: (now) => {
      for (const start of periods.hour.keys()) if (start < now - HOURS_KEPT_MS) periods.hour.delete(start);
      for (const days of [periods.day, tops]) {
        for (const start of days.keys()) if (start < now - DAYS_KEPT_MS) days.delete(start);
      }
    },
  };
}
