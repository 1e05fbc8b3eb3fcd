import type { LedgerEvent } from '../../core/ledger-event.ts';
import type { LedgerReader, LedgerTrimmer } from '../../core/ports/quota-store.ts';
import { reversalOf } from '../reversal.ts';
import type { RedisClient } from './connection.ts';
import type { Keys } from './keys.ts';
import type { StoreBreaker } from './store-breaker.ts';

const STREAM_ID = /^\d{1,20}(-\d{1,20})?$/;
const AT_ONCE = 100;

/** Reads the streams that settlements write, and trims them. Ids are `<unix ms>-<n>` by Redis's clock. */
export function createRedisLedgerReader({
  client,
  keys,
  call,
  maxEvents,
}: {
  readonly client: Pick<RedisClient, 'xrange' | 'xlen' | 'xtrim' | 'zrange' | 'zcard' | 'get'>;
  readonly keys: Keys;
  readonly call: StoreBreaker['call'];
  readonly maxEvents: number;
}): LedgerReader & LedgerTrimmer {
  const members = async (key: string): Promise<readonly string[]> =>
    (await call(() => client.zrange(key, '0', '-1'))).map((member) => JSON.parse(member) as string);

  const inParts = async (tenants: readonly string[], ask: (tenant: string) => Promise<number>): Promise<number[]> => {
    const found: number[] = [];
    for (let i = 0; i < tenants.length; i += AT_ONCE) {
      const part = tenants.slice(i, i + AT_ONCE);
      found.push(...(await call(() => Promise.all(part.map(ask)))));
    }
    return found;
  };

  return {
    read: async (tenant, after, count) => {
      if (after !== null && !STREAM_ID.test(after)) throw new RangeError(`not a ledger id: ${after}`);
      if (count <= 0) return [];
      const start = after === null ? '-' : `(${after}`;
      const entries = await call(() => client.xrange(keys.ledger(tenant), start, '+', 'COUNT', count));
      return entries.map(([id, [, kind, , text, , number]]) => {
        const event = JSON.parse(text ?? 'null') as LedgerEvent;
        return {
          id,
          number: number === undefined ? null : Number(number),
          event: kind === 'reversal' ? reversalOf(event) : event,
        };
      });
    },
    tenants: () => members(keys.tenants),
    booked: (tenants) => inParts(tenants, async (tenant) => Number((await client.get(keys.ledgerCount(tenant))) ?? 0)),
    trim: async (tenant, id) => {
      if (!STREAM_ID.test(id)) throw new RangeError(`not a ledger id: ${id}`);
      const key = keys.ledger(tenant);
      const excess = (await call(() => client.xlen(key))) - maxEvents;
      // Whole nodes of the stream, as the limit of a booking does it.
      if (excess > 0) await call(() => client.xtrim(key, 'MINID', '~', id, 'LIMIT', excess));
    },
    open: async () => {
      // Whoever has an open reservation is on the sweeper's list.
      const due = await members(keys.due);
      const counts = await inParts(due, (tenant) => client.zcard(keys.leases(tenant)));
      return counts.reduce((sum, count) => sum + count, 0);
    },
  };
}
