import type { LedgerEvent } from '../core/ledger-event.ts';
import type { LedgerEntry, LedgerReader } from '../core/ports/quota-store.ts';

export { ledgerEvent } from '../../test/support/ledger-event.ts';

/** A ledger in memory whose ids are those of Redis. */
export function readerOf(tenants: Readonly<Record<string, readonly LedgerEntry[]>>): LedgerReader {
  return {
    read: async (tenant, after, count) => {
      const entries = tenants[tenant] ?? [];
      const start = after === null ? 0 : entries.findIndex(({ id }) => isAfter(id, after));
      return start < 0 ? [] : entries.slice(start, start + count);
    },
    tenants: async () => Object.keys(tenants),
    booked: async (names) => names.map((name) => tenants[name]?.at(-1)?.number ?? tenants[name]?.length ?? 0),
    open: async () => 0,
  };
}

function isAfter(id: string, other: string): boolean {
  const [ms = 0, n = 0] = id.split('-').map(Number);
  const [otherMs = 0, otherN = 0] = other.split('-').map(Number);
  return ms > otherMs || (ms === otherMs && n > otherN);
}

/** Booked in this order, a millisecond apart. */
export function entriesOf(events: readonly LedgerEvent[]): LedgerEntry[] {
  return events.map((event, at) => ({ id: `${Date.UTC(2026, 5, 1, 13) + at}-0`, event }));
}

export async function collect<T>(pieces: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}
