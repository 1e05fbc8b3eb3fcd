import type { LedgerEntry, LedgerReader } from '../../core/ports/quota-store.ts';
import type { SinkPosition } from '../../core/ports/sink-positions.ts';
import { bookedAt } from './stream-id.ts';

/** How much of the ledger a sink does not have yet. */
export interface SinkLag {
  /** Entries of all tenants. Those of versions that did not number them are not counted. */
  readonly events: number;
  /** When the oldest of them was booked, Unix milliseconds; null = there is none. */
  readonly oldest: number | null;
  /** The tenants it is made of, most first. */
  readonly tenants: readonly { readonly tenant: string; readonly events: number }[];
  /** The next entry of those that were looked at. */
  readonly heads: readonly {
    readonly tenant: string;
    readonly after: SinkPosition | null;
    readonly next: LedgerEntry;
  }[];
}

/** Tenants whose oldest entry is looked at. */
const LOOKED_AT = 50;

/** Compares positions with the ledger. Throws what the reader throws. */
export async function measureLag(reader: LedgerReader, positions: ReadonlyMap<string, SinkPosition>): Promise<SinkLag> {
  const names = await reader.tenants();
  const booked = await reader.booked(names);
  const behind = names
    .map((tenant, at) => ({ tenant, events: unsent(booked[at] ?? 0, positions.get(tenant)) }))
    .filter(({ events }) => events > 0)
    .toSorted((a, b) => b.events - a.events);
  const heads: SinkLag['heads'][number][] = [];
  let oldest: number | null = null;
  for (const { tenant } of behind.slice(0, LOOKED_AT)) {
    const after = positions.get(tenant) ?? null;
    const [next] = await reader.read(tenant, after?.id ?? null, 1);
    if (next === undefined) continue;
    heads.push({ tenant, after, next });
    const time = bookedAt(next.id);
    if (time !== null && (oldest === null || time < oldest)) oldest = time;
  }
  return { events: behind.reduce((sum, { events }) => sum + events, 0), oldest, tenants: behind, heads };
}

function unsent(booked: number, position: SinkPosition | undefined): number {
  if (position === undefined) return booked;
  return position.number === null ? 0 : Math.max(0, booked - position.number);
}
