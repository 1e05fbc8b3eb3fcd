import type { SinkStanding } from '../admin/admin-deps.ts';
import type { Clock } from '../core/ports/clock.ts';
import { StoreUnavailable } from '../core/ports/quota-store.ts';
import type { LedgerSinkSettings } from '../core/snapshot.ts';
import { measureLag } from '../cost/sink/measure-lag.ts';
import { sinkPlace } from '../cost/sink/open-sink.ts';
import type { Stores } from '../store/stores.ts';

/** All tenants are counted for it: who polls gets the same for this long. */
const KEPT_MS = 2000;
/** At the latest after so many intervals, and this time for what is under way, an event should be there. */
const INTERVALS = 4;
const SLACK_MS = 10_000;

export interface ReadSinkOptions {
  readonly stores: Pick<Stores, 'ledger' | 'positions'>;
  readonly clock: Clock;
}

/** How far the copy of the ledger is behind, whichever replica carries it. Gives null where there is none. */
export function createReadSink({ stores, clock }: ReadSinkOptions) {
  let kept: { readonly place: string; readonly until: number; readonly standing: Promise<SinkStanding> } | null = null;

  const measure = async (place: string, { intervalMs }: LedgerSinkSettings): Promise<SinkStanding> => {
    try {
      const { tenants } = await stores.positions.load(place);
      const { events, oldest } = await measureLag(stores.ledger, tenants);
      const lagMs = oldest === null ? 0 : Math.max(0, clock.time() - oldest);
      const isBehind = lagMs > INTERVALS * intervalMs + SLACK_MS;
      return { state: isBehind ? 'behind' : 'ok', lagEvents: events, lagMs };
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      return { state: 'unknown', lagEvents: null, lagMs: null };
    }
  };

  return async (sink: LedgerSinkSettings | null): Promise<SinkStanding | null> => {
    if (sink === null) return null;
    const place = sinkPlace(sink);
    if (kept === null || kept.place !== place || clock.now() >= kept.until) {
      kept = { place, until: clock.now() + KEPT_MS, standing: measure(place, sink) };
    }
    return await kept.standing;
  };
}
