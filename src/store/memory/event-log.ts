import type { LedgerEvent } from '../../core/ledger-event.ts';
import { isAfter } from '../ledger-id.ts';
import type { LedgerSettings } from '../ledger-settings.ts';
import { spendEntryOf } from '../spend-entry.ts';
import { createSpendSums } from './spend-sums.ts';
import type { SpendSums } from './spend-sums.ts';

/** `sign` -1 takes `event` back. */
interface Entry {
  readonly id: string;
  /** Among all that were ever booked, from 1. */
  readonly number: number;
  readonly event: LedgerEvent;
  readonly sign: 1 | -1;
}

/** One tenant's ledger, and what it comes to. */
export interface EventLog {
  readonly book: (event: LedgerEvent, sign: 1 | -1, now: number) => void;
  readonly read: (after: string | null, count: number) => readonly Entry[];
  /** The last id; empty when there is none. */
  readonly last: () => string;
  readonly size: () => number;
  /** How many were ever booked. */
  readonly booked: () => number;
  readonly sums: SpendSums;
}

export function createEventLog({ maxEvents, zone }: Pick<LedgerSettings, 'maxEvents' | 'zone'>): EventLog {
  const entries: Entry[] = [];
  const sums = createSpendSums();
  let booked = 0;
  let lastId: readonly [ms: number, count: number] = [0, -1];

  return {
    book: (event, sign, now) => {
      const [ms, count] = lastId;
      lastId = now > ms ? [now, 0] : [ms, count + 1];
      booked += 1;
      entries.push({ id: lastId.join('-'), number: booked, event, sign });
      sums.add(spendEntryOf(event, zone), sign);
      // Trimmed in lumps: one by one would move the whole array each time.
      if (entries.length > maxEvents + 100) entries.splice(0, entries.length - maxEvents);
    },
    read: (after, count) => {
      const from = after === null ? 0 : entries.findIndex(({ id }) => isAfter(id, after));
      return from === -1 ? [] : entries.slice(from, from + Math.max(0, count));
    },
    last: () => entries.at(-1)?.id ?? '',
    size: () => entries.length,
    booked: () => booked,
    sums,
  };
}
