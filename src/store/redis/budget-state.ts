import type { BudgetAlert, BudgetStateStore, BudgetStatus } from '../../core/ports/budget-state.ts';
import type { RedisClient } from './connection.ts';
import { encodeKeyPart } from './keys.ts';
import type { StoreBreaker } from './store-breaker.ts';

export interface RedisBudgetStateOptions {
  readonly client: Pick<RedisClient, 'hgetall' | 'hset' | 'hdel' | 'hscan' | 'publish' | 'eval'>;
  readonly call: StoreBreaker['call'];
  /** Begins every key. */
  readonly prefix: string;
  /** A connection of its own to hear changes on; there while somebody watches. */
  readonly connect: () => RedisClient;
}

/** KEYS: mark, list. ARGV: ms to remember the mark, the alert, the list's field of each channel. */
const RAISE = `
if not redis.call('SET', KEYS[1], '1', 'NX', 'PX', ARGV[1]) then return 0 end
for i = 3, #ARGV do redis.call('HSET', KEYS[2], ARGV[i], ARGV[2]) end
return 1`;

/** Told after a change; what it says is of no matter. */
const CHANGED = '1';

/**
 * `BudgetStateStore` in Redis: one hash of statuses, one hash of alerts that wait for their channel, and a mark for each
 * alert that was raised. All lie in one slot. Changes are told by pub/sub.
 */
export function createRedisBudgetState({ client, call, prefix, connect }: RedisBudgetStateOptions): BudgetStateStore {
  const statuses = `${prefix}{~}:budgets`;
  const waiting = `${prefix}{~}:alerts`;
  const channel = `${prefix}{~}:budget-changes`;
  let cursor = '0';
  // A word that does not get out is made up for by everybody's next look.
  const tell = (): void => void client.publish(channel, CHANGED).catch(() => {});

  return {
    list: async () => {
      const all = await call(() => client.hgetall(statuses));
      return Object.values(all).map((text) => JSON.parse(text) as BudgetStatus);
    },
    put: async (status) => {
      await call(() => client.hset(statuses, status.budget, JSON.stringify(status)));
      tell();
    },
    drop: async (budget) => {
      await call(() => client.hdel(statuses, budget));
      tell();
    },
    raise: async (alert, channels, keepMs) => {
      const mark = `${prefix}{~}:alert:${encodeKeyPart(alert.id)}`;
      const fields = channels.map((name) => `${alert.id} ${name}`);
      const args = [Math.ceil(keepMs), JSON.stringify(alert), ...fields];
      return (await call(() => client.eval(RAISE, 2, mark, waiting, ...args))) === 1;
    },
    pending: async (count) => {
      const [next, flat] = await call(() => client.hscan(waiting, cursor, 'COUNT', count));
      cursor = next;
      return flat.flatMap((field, at) => {
        const text = flat[at + 1];
        if (at % 2 === 1 || text === undefined) return [];
        return [{ alert: JSON.parse(text) as BudgetAlert, channel: field.slice(field.indexOf(' ') + 1) }];
      });
    },
    delivered: async (alert, name) => {
      await call(() => client.hdel(waiting, `${alert} ${name}`));
    },
    watch: (onChange) => {
      const listener = connect();
      listener.on('message', () => onChange());
      listener.on('ready', () => {
        // Whatever was told before is missed.
        listener.subscribe(channel).then(onChange, () => {});
      });
      return { close: () => listener.disconnect() };
    },
  };
}
