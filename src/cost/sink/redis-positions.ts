import type { PositionStore } from './ledger-sink.ts';

/** The two commands that positions need of a Redis client. */
export interface HashClient {
  hgetall(key: string): Promise<Record<string, string>>;
  hset(key: string, fields: Record<string, string>): Promise<number>;
}

/**
 * Positions as one hash in Redis, tenants as JSON texts. Two followers of one sink may overwrite each other with an older
 * position: then entries go out twice, which a sink bears.
 */
export function createRedisPositions({
  client,
  keyPrefix,
  sink,
}: {
  readonly client: HashClient;
  readonly keyPrefix: string;
  /** Name of the sink. */
  readonly sink: string;
}): PositionStore {
  const key = `${keyPrefix}sink:${sink}`;
  return {
    load: async () => {
      const fields = Object.entries(await client.hgetall(key));
      return new Map(fields.map(([tenant, id]) => [JSON.parse(tenant) as string, id]));
    },
    save: async (positions) => {
      if (positions.size === 0) return;
      await client.hset(key, Object.fromEntries([...positions].map(([tenant, id]) => [JSON.stringify(tenant), id])));
    },
  };
}
