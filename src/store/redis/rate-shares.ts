import { RATE_SHARE_TIMES, type RateShareStore, type RateShareTimes } from '../../core/ports/rate-shares.ts';
import { fromMillis, toMillis } from '../rate-units.ts';
import type { RedisClient } from './connection.ts';
import { encodeKeyPart } from './keys.ts';
import type { RunScript } from './script-runner.ts';
import type { StoreBreaker } from './store-breaker.ts';

/** A table that nobody asks for is forgotten. */
const TTL_MS = 86_400_000;

/** `RateShareStore` in Redis: a hash a rate, all in one slot; one script call for all rates of a process. */
export function createRedisRateShares({
  client,
  run,
  call,
  prefix,
  times: { keepMs, settleMs } = RATE_SHARE_TIMES,
}: {
  readonly client: Pick<RedisClient, 'hdel'>;
  readonly run: RunScript;
  readonly call: StoreBreaker['call'];
  /** Begins every key. */
  readonly prefix: string;
  readonly times?: RateShareTimes;
}): RateShareStore {
  const keyOf = (name: string): string => `${prefix}{~}:rate:${encodeKeyPart(name)}`;
  return {
    renew: async (holder, wishes) => {
      if (wishes.length === 0) return [];
      const amounts = wishes.flatMap(({ rate, demand, held }) => [toMillis(rate), toMillis(demand), toMillis(held)]);
      const keys = wishes.map(({ name }) => keyOf(name));
      const shares = await call(() => run('share-rates', keys, [holder, keepMs, settleMs, TTL_MS, ...amounts]));
      return (shares as readonly unknown[]).map((share) => fromMillis(Number(share)));
    },
    leave: async (holder, names) => {
      await call(() => Promise.all(names.map((name) => client.hdel(keyOf(name), `m:${holder}`))));
    },
  };
}
