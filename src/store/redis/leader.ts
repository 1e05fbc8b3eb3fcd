import type { LeaderLease } from '../../core/ports/leader.ts';
import type { RedisClient } from './connection.ts';
import { encodeKeyPart } from './keys.ts';
import type { StoreBreaker } from './store-breaker.ts';

const HOLD = `
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;

const RELEASE = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1`;

/** `LeaderLease` in Redis: one key a lease, which ends by itself. `prefix` begins every key. */
export function createRedisLeaderLease({
  client,
  call,
  prefix,
}: {
  readonly client: Pick<RedisClient, 'eval'>;
  readonly call: StoreBreaker['call'];
  readonly prefix: string;
}): LeaderLease {
  const keyOf = (name: string): string => `${prefix}{~}:lease:${encodeKeyPart(name)}`;
  return {
    hold: async (name, holder, ttlMs) => (await call(() => client.eval(HOLD, 1, keyOf(name), holder, ttlMs))) === 1,
    release: async (name, holder) => {
      await call(() => client.eval(RELEASE, 1, keyOf(name), holder));
    },
  };
}
