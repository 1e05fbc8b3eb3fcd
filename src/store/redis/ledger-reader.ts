import type { LedgerEvent } from '../../core/ledger-event.ts';
import type { LedgerReader } from '../../core/ports/quota-store.ts';
import { reversalOf } from '../reversal.ts';
import type { RedisClient } from './connection.ts';
import type { Keys } from './keys.ts';
import type { StoreBreaker } from './store-breaker.ts';

const STREAM_ID = /^\d{1,20}(-\d{1,20})?$/;
const AT_ONCE = 100;

/** Reads the streams that settlements write. Ids are `<unix ms>-<n>` by Redis's clock. */
export function createRedisLedgerReader({
  client,
  keys,
  call,
}: {
  readonly client: Pick<RedisClient, 'xrange' | 'zrange' | 'zcard'>;
  readonly keys: Keys;
  readonly call: StoreBreaker['call'];
}): LedgerReader {
  const members = async (key: string): Promise<readonly string[]> =>
    (await call(() => client.zrange(key, '0', '-1'))).map((member) => JSON.parse(member) as string);

  return {
    read: async (tenant, after, count) => {
      if (after !== null && !STREAM_ID.test(after)) throw new RangeError(`not a ledger id: ${after}`);
      if (count <= 0) return [];
      const start = after === null ? '-' : `(${after}`;
      const entries = await call(() => client.xrange(keys.ledger(tenant), start, '+', 'COUNT', count));
      return entries.map(([id, [, kind, , text]]) => {
        const event = JSON.parse(text ?? 'null') as LedgerEvent;
        return { id, event: kind === 'reversal' ? reversalOf(event) : event };
      });
    },
    tenants: () => members(keys.tenants),
    open: async () => {
      // Whoever has an open reservation is on the sweeper's list.
      const due = await members(keys.due);
      let total = 0;
      for (let i = 0; i < due.length; i += AT_ONCE) {
        const part = due.slice(i, i + AT_ONCE);
        const counts = await call(() => Promise.all(part.map((tenant) => client.zcard(keys.leases(tenant)))));
        total += counts.reduce((sum, count) => sum + count, 0);
      }
      return total;
    },
  };
}
