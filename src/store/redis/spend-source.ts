import type { LedgerEvent } from '../../core/ledger-event.ts';
import type { Sums } from '../spend-entry.ts';
import type { SpendRows } from '../spend-rows.ts';
import type { SpendSource } from '../spend-source.ts';
import type { RedisClient } from './connection.ts';
import type { Keys } from './keys.ts';
import type { RunScript } from './script-runner.ts';
import type { StoreBreaker } from './store-breaker.ts';

/** Reads the sums that settlements and expiries write (`lua/rollup.lua`). */
export function createRedisSpendSource({
  client,
  run,
  keys,
  call,
  tenants,
  maxEvents,
}: {
  readonly client: Pick<RedisClient, 'xrange' | 'xlen' | 'zrevrange'>;
  readonly run: RunScript;
  readonly keys: Keys;
  readonly call: StoreBreaker['call'];
  readonly tenants: SpendSource['tenants'];
  readonly maxEvents: number;
}): SpendSource {
  return {
    tenants,
    rows: async (tenant, unit, starts) => {
      const prefix = `${keys.sums(tenant)}${unit.charAt(0)}:`;
      const hashes = starts.map((start) => `${prefix}${start / 1000}`);
      const reply = await call(() => run('rows', [keys.ledger(tenant), ...hashes], []));
      const [last, ...periods] = reply as readonly [string, ...(readonly string[])[]];
      return { last, periods: periods.map(readRows) };
    },
    top: async (tenant, day, count) => {
      const key = `${keys.sums(tenant)}top:${day / 1000}`;
      const flat = await call(() => client.zrevrange(key, 0, count - 1, 'WITHSCORES'));
      return flat.flatMap((member, i) => (i % 2 === 0 ? [{ member, cost: Number(flat[i + 1]) }] : []));
    },
    events: async (tenant, after, count) => {
      const start = after === null ? '-' : `(${after}`;
      const entries = await call(() => client.xrange(keys.ledger(tenant), start, '+', 'COUNT', count));
      return entries.map(([id, [, kind, , text]]) => ({
        id,
        event: JSON.parse(text ?? 'null') as LedgerEvent,
        sign: kind === 'reversal' ? -1 : 1,
      }));
    },
    wholeFrom: async (tenant) => {
      const ledger = keys.ledger(tenant);
      // About `maxEvents` are kept, but never less: a shorter ledger is whole.
      const [length, [first]] = await call(() =>
        Promise.all([client.xlen(ledger), client.xrange(ledger, '-', '+', 'COUNT', 1)]),
      );
      return length < maxEvents || first === undefined ? Number.NEGATIVE_INFINITY : Number(first[0].split('-')[0]);
    },
  };
}

function readRows(flat: readonly string[]): SpendRows {
  const rows: SpendRows = new Map();
  for (let i = 0; i + 1 < flat.length; i += 2) {
    rows.set(flat[i] ?? '', (flat[i + 1] ?? '').split(' ').map(Number) as unknown as Sums);
  }
  return rows;
}
