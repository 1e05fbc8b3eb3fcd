import type { RolloutFigureStore } from '../../core/ports/rollout.ts';
import type { RolloutFigures } from '../../core/rollout.ts';
import type { RedisClient } from './connection.ts';
import { encodeKeyPart } from './keys.ts';
import type { StoreBreaker } from './store-breaker.ts';

export interface RedisRolloutFiguresOptions {
  readonly client: Pick<RedisClient, 'hset' | 'pexpire' | 'hvals'>;
  readonly call: StoreBreaker['call'];
  /** Begins every key. */
  readonly prefix: string;
}

/** Long enough to look at when it is over. */
const KEEP_MS = 7 * 24 * 3_600_000;

/** `RolloutFigureStore` in Redis: a hash a roll-out, a field a process. */
export function createRedisRolloutFigures({ client, call, prefix }: RedisRolloutFiguresOptions): RolloutFigureStore {
  const keyOf = (rollout: string): string => `${prefix}{~}:rollout:${encodeKeyPart(rollout)}`;
  return {
    publish: async (rollout, holder, figures) => {
      const key = keyOf(rollout);
      await call(() => Promise.all([client.hset(key, holder, JSON.stringify(figures)), client.pexpire(key, KEEP_MS)]));
    },
    read: async (rollout) =>
      (await call(() => client.hvals(keyOf(rollout)))).map((text) => JSON.parse(text) as RolloutFigures),
  };
}
