import type { LedgerReader } from '../../core/ports/quota-store.ts';
import type { SinkPosition, SinkPositionStore } from '../../core/ports/sink-positions.ts';
import { streamIdBefore } from '../export/stream-id-before.ts';
import { bookedAt } from './stream-id.ts';

/**
 * Makes a sink get again what was booked from `from` on (Unix milliseconds; null = all that the ledger holds), of one tenant or
 * all. Harmless: a sink counts a booking once. Gives how many tenants. Throws `StoreUnavailable`.
 */
export async function rewindSink({
  reader,
  positions,
  place,
  from,
  tenant,
}: {
  readonly reader: LedgerReader;
  readonly positions: SinkPositionStore;
  readonly place: string;
  readonly from: number | null;
  readonly tenant: string | null;
}): Promise<number> {
  const tenants = tenant === null ? await reader.tenants() : [tenant];
  const { tenants: reached } = await positions.load(place);
  const back = new Map<string, SinkPosition | null>();
  for (const name of tenants) {
    const at = reached.get(name);
    const next = from === null ? null : await positionBefore(reader, name, from);
    // Forward would leave out what was never sent.
    if (at === undefined || (next !== null && (bookedAt(at.id) ?? 0) < (from ?? 0))) continue;
    back.set(name, next);
  }
  await positions.rewind(place, back);
  return back.size;
}

/** Null: the ledger begins later, so that all of it comes again. */
async function positionBefore(reader: LedgerReader, tenant: string, from: number): Promise<SinkPosition | null> {
  const [oldest] = await reader.read(tenant, null, 1);
  if (oldest === undefined || (bookedAt(oldest.id) ?? 0) >= from) return null;
  const [next] = await reader.read(tenant, streamIdBefore(from), 1);
  const number = typeof next?.number === 'number' ? next.number - 1 : null;
  return { id: streamIdBefore(from), number };
}
