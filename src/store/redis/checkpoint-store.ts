import { once } from 'node:events';
import type { CheckpointStore } from '../../core/ports/audit.ts';
import { connectRedis } from './connection.ts';
import type { RedisClient, RedisConfig } from './connection.ts';
import { encodeKeyPart } from './keys.ts';

/** Checkpoints kept of a chain. */
const KEEP = 1000;
/** For one call, connecting included. Nobody's request waits for it. */
const DEADLINE_MS = 3000;

/**
 * Signed checkpoints in Redis: a list a chain, and a set of the chains. It has a connection of its own, so that a checkpoint
 * never waits behind requests, nor they behind it. What a crash of Redis takes, the next checkpoint makes up for.
 */
export function createRedisCheckpointStore({
  redis,
  onError,
}: {
  readonly redis: RedisConfig;
  readonly onError: (error: Error) => void;
}): CheckpointStore {
  let client: RedisClient | null = null;
  const chains = `${redis.keyPrefix}audit:chains`;
  const listOf = (chain: string): string => `${redis.keyPrefix}audit:chain:${encodeKeyPart(chain)}`;

  const call = async <T>(run: (ready: RedisClient) => Promise<T>): Promise<T> => {
    client ??= connectRedis({ redis, onError });
    const using = client;
    const deadline = AbortSignal.timeout(DEADLINE_MS);
    const late = new Promise<never>((_, reject) => {
      deadline.addEventListener('abort', () => reject(new Error(`Redis did not answer within ${DEADLINE_MS} ms`)));
    });
    const work = async (): Promise<T> => {
      if (using.status !== 'ready') await once(using, 'ready', { signal: deadline });
      return run(using);
    };
    const done = work();
    done.catch(() => {});
    return Promise.race([done, late]);
  };

  return {
    name: 'redis',
    append: (chain, checkpoint) =>
      call(async (ready) => {
        // The name first: a list that no name leads to would never be looked for.
        await ready.sadd(chains, chain);
        await ready.rpush(listOf(chain), checkpoint);
        await ready.ltrim(listOf(chain), -KEEP, -1);
      }),
    list: (chain) => call((ready) => ready.lrange(listOf(chain), 0, -1)),
    chains: () => call(async (ready) => (await ready.smembers(chains)).toSorted()),
    close: async () => {
      client?.disconnect();
      client = null;
    },
  };
}
