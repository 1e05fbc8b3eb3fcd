import type { LiveStore, WorkerLive } from '../../core/ports/live.ts';
import type { RedisClient } from './connection.ts';
import { encodeKeyPart } from './keys.ts';
import type { StoreBreaker } from './store-breaker.ts';

export interface RedisLiveStoreOptions {
  readonly client: Pick<RedisClient, 'eval' | 'zrange' | 'mget' | 'zrem' | 'del'>;
  readonly call: StoreBreaker['call'];
  /** Begins every key. */
  readonly prefix: string;
}

/** KEYS: the worker's state, the list of workers. ARGV: the state, ms to keep it, the worker's name. Lets go of those that are silent. */
const PUBLISH = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
redis.call('PEXPIRE', KEYS[2], ARGV[2] * 2)`;

/** `LiveStore` in Redis: one string a worker that goes by itself, and a sorted set of their names. All lie in one slot. */
export function createRedisLiveStore({ client, call, prefix }: RedisLiveStoreOptions): LiveStore {
  const workers = `${prefix}{~}:live`;
  const keyOf = (name: string): string => `${workers}:${name}`;
  const nameOf = (replica: string, worker: number): string => `${encodeKeyPart(replica)}:${worker}`;
  return {
    publish: async (state, keepMs) => {
      const name = nameOf(state.replica, state.worker);
      await call(() =>
        client.eval(PUBLISH, 2, keyOf(name), workers, JSON.stringify(state), String(Math.ceil(keepMs)), name),
      );
    },
    read: async () => {
      const names = await call(() => client.zrange(workers, '0', '-1'));
      if (names.length === 0) return [];
      const texts = await call(() => client.mget(names.map(keyOf)));
      return texts.flatMap((text) => (text === null ? [] : readState(text)));
    },
    leave: async (replica, worker) => {
      const name = nameOf(replica, worker);
      await call(() => Promise.all([client.zrem(workers, name), client.del(keyOf(name))]));
    },
  };
}

/** A replica of another version may say it differently: it is not seen then. */
function readState(text: string): readonly WorkerLive[] {
  const state = JSON.parse(text) as Partial<WorkerLive>;
  return typeof state.replica === 'string' && Array.isArray(state.rows) ? [state as WorkerLive] : [];
}
