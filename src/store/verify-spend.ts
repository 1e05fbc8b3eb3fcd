import type { Clock } from '../core/ports/clock.ts';
import type { SpendReader, SpendRow } from '../core/ports/spend-reader.ts';
import { periodsBetween } from '../lib/calendar/calendar-period.ts';
import { isAfter } from './ledger-id.ts';
import { DAYS_KEPT_MS, HOURS_KEPT_MS, spendEntryOf } from './spend-entry.ts';
import { addEntry, dimensionsOf, isNothing, spendRow } from './spend-rows.ts';
import type { SpendRows } from './spend-rows.ts';
import type { SpendSource } from './spend-source.ts';

type Unit = 'hour' | 'day';
type Difference = Awaited<ReturnType<SpendReader['verify']>>[number];

const HOUR_MS = 3_600_000;
const AT_ONCE = 100;
const PAGE = 500;

interface VerifyOptions {
  readonly source: SpendSource;
  readonly clock: Clock;
  readonly zone: string | undefined;
  readonly tenant: string;
}

/**
 * Adds a ledger up anew and compares. Sums are read together with the ledger's last id, and the ledger is followed up to just
 * that id, so what is booked meanwhile is no difference. Left out are periods that the ledger or the sums do not cover whole any more.
 */
export async function verifySpend(options: VerifyOptions): Promise<readonly Difference[]> {
  const { source, clock, zone, tenant } = options;
  const ledger = createFollower(options);
  const [{ last }, wholeFrom] = await Promise.all([source.rows(tenant, 'hour', []), source.wholeFrom(tenant)]);
  await ledger.follow(last);
  const now = clock.time();
  const differences: Difference[] = [];
  for (const [unit, keptMs] of [
    ['hour', HOURS_KEPT_MS],
    ['day', DAYS_KEPT_MS],
  ] as const) {
    const kept = keptStarts(unit, now - keptMs, now + HOUR_MS, zone);
    const starts = [...new Set([...kept, ...ledger.starts(unit)])]
      .filter((start) => start >= wholeFrom && start > now - keptMs)
      .toSorted((a, b) => a - b);
    for (let from = 0; from < starts.length; from += AT_ONCE) {
      const part = starts.slice(from, from + AT_ONCE);
      const stored = await source.rows(tenant, unit, part);
      await ledger.follow(stored.last);
      for (const [i, at] of part.entries()) {
        differences.push(...compare(at, tenant, stored.periods[i] ?? new Map(), ledger.rows(unit, at)));
      }
    }
  }
  return differences;
}

function keptStarts(unit: Unit, from: number, to: number, zone: string | undefined): readonly number[] {
  if (unit === 'day') return periodsBetween(from, to, 'day', zone).map(({ start }) => start);
  const first = Math.floor(from / HOUR_MS);
  return Array.from({ length: Math.ceil(to / HOUR_MS) - first }, (_, i) => (first + i) * HOUR_MS);
}

/** The sums as the ledger says, as far as it was followed. */
function createFollower({ source, zone, tenant }: VerifyOptions) {
  const sums: Readonly<Record<Unit, Map<number, SpendRows>>> = { hour: new Map(), day: new Map() };
  let at: string | null = null;

  function rowsOf(unit: Unit, start: number): SpendRows {
    const rows = sums[unit].get(start) ?? new Map();
    sums[unit].set(start, rows);
    return rows;
  }

  return {
    follow: async (last: string): Promise<void> => {
      if (last === '') return;
      for (;;) {
        const page = await source.events(tenant, at, PAGE);
        for (const { id, event, sign } of page) {
          if (isAfter(id, last)) return;
          const entry = spendEntryOf(event, zone);
          addEntry(rowsOf('hour', entry.hour * 1000), entry, sign);
          addEntry(rowsOf('day', entry.day * 1000), entry, sign);
          at = id;
        }
        if (page.length < PAGE) return;
      }
    },
    starts: (unit: Unit): Iterable<number> => sums[unit].keys(),
    rows: (unit: Unit, start: number): SpendRows => sums[unit].get(start) ?? new Map(),
  };
}

function compare(at: number, tenant: string, stored: SpendRows, events: SpendRows): Difference[] {
  const names = [...new Set([...stored.keys(), ...events.keys()])].toSorted();
  const row = (rows: SpendRows, name: string): SpendRow | null => {
    const sums = rows.get(name);
    const { keys, currency } = dimensionsOf(name, tenant);
    return sums === undefined || isNothing(sums) ? null : spendRow(at, keys, currency, sums);
  };
  return names
    .filter((name) => {
      const [a, b] = [stored.get(name), events.get(name)];
      return isNothing(a) ? !isNothing(b) : b === undefined || a?.some((value, i) => value !== b[i]);
    })
    .map((name) => ({ stored: row(stored, name), events: row(events, name) }));
}
