import type { SinkPosition, SinkPositionStore } from '../../core/ports/sink-positions.ts';
import type { RedisClient } from './connection.ts';
import { encodeKeyPart } from './keys.ts';
import type { StoreBreaker } from './store-breaker.ts';

/** KEYS: positions. ARGV: turn, ms to keep them, then field and value of each tenant. */
const SAVE = `
if (redis.call('HGET', KEYS[1], 'turn') or '0') ~= ARGV[1] then return 0 end
for i = 3, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`;

/** KEYS: positions. ARGV: ms to keep them, then field of each tenant and its value or '' for none. */
const REWIND = `
redis.call('HINCRBY', KEYS[1], 'turn', 1)
for i = 2, #ARGV, 2 do
  if ARGV[i + 1] == '' then redis.call('HDEL', KEYS[1], ARGV[i]) else redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1`;

/** As long as ledgers are kept. */
const KEEP_MS = 400 * 86_400_000;

/**
 * `SinkPositionStore` in Redis: one hash a sink, tenants as JSON texts, which begin with a quote and so never are `turn`. Two
 * followers of one sink may overwrite each other with an older position: then entries go out twice, which a sink bears.
 */
export function createRedisSinkPositions({
  client,
  call,
  prefix,
}: {
  readonly client: Pick<RedisClient, 'hgetall' | 'eval'>;
  readonly call: StoreBreaker['call'];
  /** Begins every key. */
  readonly prefix: string;
}): SinkPositionStore {
  const keyOf = (sink: string): string => `${prefix}{~}:sink:${encodeKeyPart(sink)}`;
  return {
    load: async (sink) => {
      const { turn = '0', ...fields } = await call(() => client.hgetall(keyOf(sink)));
      const tenants = Object.entries(fields).map(
        ([tenant, text]) => [JSON.parse(tenant) as string, read(text)] as const,
      );
      return { turn: Number(turn), tenants: new Map(tenants) };
    },
    save: async (sink, turn, tenants) => {
      const args = [...tenants].flatMap(([tenant, position]) => [JSON.stringify(tenant), write(position)]);
      return (await call(() => client.eval(SAVE, 1, keyOf(sink), turn, KEEP_MS, ...args))) === 1;
    },
    rewind: async (sink, tenants) => {
      const args = [...tenants].flatMap(([tenant, position]) => [
        JSON.stringify(tenant),
        position === null ? '' : write(position),
      ]);
      await call(() => client.eval(REWIND, 1, keyOf(sink), KEEP_MS, ...args));
    },
  };
}

function write({ id, number }: SinkPosition): string {
  return number === null ? id : `${id} ${number}`;
}

function read(text: string): SinkPosition {
  const [id = '', number] = text.split(' ');
  return { id, number: number === undefined ? null : Number(number) };
}
