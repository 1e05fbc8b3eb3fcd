import type { OperationId } from '../../core/ids.ts';
import { type Job, type JobState, SETTLED_MS } from '../../core/job.ts';
import type { JobStore, OwedReservation } from '../../core/ports/job-store.ts';
import type { RedisClient } from './connection.ts';
import { encodeKeyPart } from './keys.ts';
import type { StoreBreaker } from './store-breaker.ts';

export interface RedisJobStoreOptions {
  readonly client: Pick<RedisClient, 'eval' | 'hgetall' | 'del' | 'hget' | 'zrem'>;
  readonly call: StoreBreaker['call'];
  /** Begins every key. */
  readonly prefix: string;
}

/**
 * One hash a job; sorted sets of those that may be begun (by their age), those that may not yet (by when they may) and those that run
 * (by the end of their lease); of those that wait, by when they came; what is owed, by when; those that failed, by when they are let go
 * of; and what all of them come to. KEYS[1] begins every key: all lie in one slot.
 */
const COMMON = `
local p = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function key(id) return p .. ':' .. id end
local function leave(id)
  redis.call('ZREM', p .. ':ready', id)
  redis.call('ZREM', p .. ':waiting', id)
  redis.call('ZREM', p .. ':running', id)
  redis.call('ZREM', p .. ':ages', id)
  redis.call('HINCRBY', p .. ':sums', 'count', -1)
  redis.call('HINCRBY', p .. ':sums', 'bytes', -tonumber(redis.call('HGET', key(id), 'bytes') or 0))
  local tenant = redis.call('HGET', key(id), 'tenant')
  if redis.call('HINCRBY', p .. ':tenants', tenant, -1) <= 0 then redis.call('HDEL', p .. ':tenants', tenant) end
end
local function owe(id, after)
  local found = redis.call('HMGET', key(id), 'operation', 'tenant')
  redis.call('ZADD', p .. ':owed', now + after, found[1] .. ' ' .. found[2])
end
local function over(id, state, answer, keep, after)
  leave(id)
  if state ~= 'completed' then owe(id, after or 0) end
  if state == 'failed' then redis.call('ZADD', p .. ':failed', now + tonumber(keep), id) end
  redis.call('HSET', key(id), 'state', state, 'request', '', 'holder', '', 'expires', now + tonumber(keep))
  if answer ~= '' then redis.call('HSET', key(id), 'answer', answer) end
  redis.call('PEXPIRE', key(id), keep)
end
local function age(id)
  local created = redis.call('HGET', key(id), 'created') or now
  redis.call('ZADD', p .. ':ages', created, id)
  return created
end
local function ready(id) redis.call('ZADD', p .. ':ready', age(id), id) end
local function held(id, holder)
  local found = redis.call('HMGET', key(id), 'state', 'holder')
  return found[1] == 'running' and found[2] == holder
end`;

const ADD = `${COMMON}
local id, tenant, bytes = ARGV[1], ARGV[2], tonumber(ARGV[3])
local count = tonumber(redis.call('HGET', p .. ':sums', 'count') or 0)
local all = tonumber(redis.call('HGET', p .. ':sums', 'bytes') or 0)
local own = tonumber(redis.call('HGET', p .. ':tenants', tenant) or 0)
if count >= tonumber(ARGV[4]) or own >= tonumber(ARGV[5]) or all + bytes > tonumber(ARGV[6]) then return 0 end
redis.call('HSET', key(id), 'tenant', tenant, 'bytes', bytes, 'state', 'queued', 'attempts', 0, 'operation', ARGV[7],
  'created', ARGV[8], 'expires', ARGV[9], 'request', ARGV[10], 'holder', '')
ready(id)
redis.call('HINCRBY', p .. ':sums', 'count', 1)
redis.call('HINCRBY', p .. ':sums', 'bytes', bytes)
redis.call('HINCRBY', p .. ':tenants', tenant, 1)
return 1`;

const CLAIM = `${COMMON}
local holder, lease, keep = ARGV[1], tonumber(ARGV[2]), ARGV[3]
for _, id in ipairs(redis.call('ZRANGEBYSCORE', p .. ':running', '-inf', now, 'LIMIT', 0, 20)) do
  redis.call('ZREM', p .. ':running', id)
  if redis.call('HGET', key(id), 'unwanted') then
    over(id, 'cancelled', '', keep)
    return id
  end
  redis.call('HINCRBY', key(id), 'attempts', 1)
  redis.call('HSET', key(id), 'state', 'queued', 'holder', '')
  ready(id)
end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', p .. ':waiting', '-inf', now, 'LIMIT', 0, 100)) do
  redis.call('ZREM', p .. ':waiting', id)
  ready(id)
end
for _, id in ipairs(redis.call('ZRANGE', p .. ':ready', 0, 0)) do
  if tonumber(redis.call('HGET', key(id), 'expires') or 0) <= now then
    over(id, 'expired', '', keep)
    return id
  else
    redis.call('ZREM', p .. ':ready', id)
    redis.call('ZREM', p .. ':ages', id)
    redis.call('ZADD', p .. ':running', now + lease, id)
    redis.call('HSET', key(id), 'state', 'running', 'holder', holder)
    return id
  end
end
return false`;

const RENEW = `${COMMON}
if not held(ARGV[1], ARGV[2]) then return 'lost' end
if redis.call('HGET', key(ARGV[1]), 'unwanted') then return 'cancelled' end
redis.call('ZADD', p .. ':running', now + tonumber(ARGV[3]), ARGV[1])
return 'held'`;

const PUT_BACK = `${COMMON}
if not held(ARGV[1], ARGV[2]) then return 'lost' end
if redis.call('HGET', key(ARGV[1]), 'unwanted') then
  over(ARGV[1], 'cancelled', '', ARGV[6], tonumber(ARGV[7]))
  return 'cancelled'
end
redis.call('ZREM', p .. ':running', ARGV[1])
redis.call('HINCRBY', key(ARGV[1]), 'attempts', ARGV[4])
redis.call('HSET', key(ARGV[1]), 'state', 'queued', 'holder', '')
if ARGV[5] ~= '' then
  owe(ARGV[1], tonumber(ARGV[7]))
  redis.call('HSET', key(ARGV[1]), 'operation', ARGV[5])
end
redis.call('ZADD', p .. ':waiting', now + tonumber(ARGV[3]), ARGV[1])
age(ARGV[1])
return 'queued'`;

const FINISH = `${COMMON}
if not held(ARGV[1], ARGV[2]) then return 0 end
over(ARGV[1], ARGV[3], ARGV[4], ARGV[5])
return 1`;

const CANCEL = `${COMMON}
local found = redis.call('HMGET', key(ARGV[1]), 'state', 'tenant')
if found[2] ~= ARGV[2] then return false end
if found[1] == 'running' then
  redis.call('HSET', key(ARGV[1]), 'unwanted', 1)
  return 'running'
end
if found[1] ~= 'queued' then return false end
over(ARGV[1], 'cancelled', '', ARGV[3])
return 'cancelled'`;

const OWED = `${COMMON}
local due = redis.call('ZRANGEBYSCORE', p .. ':owed', '-inf', now, 'LIMIT', 0, 100)
for _, member in ipairs(due) do redis.call('ZADD', p .. ':owed', now + tonumber(ARGV[1]), member) end
return due`;

const COUNTS = `${COMMON}
redis.call('ZREMRANGEBYSCORE', p .. ':failed', '-inf', now)
local oldest = redis.call('ZRANGE', p .. ':ages', 0, 0, 'WITHSCORES')
return { redis.call('ZCARD', p .. ':ready') + redis.call('ZCARD', p .. ':waiting'), redis.call('ZCARD', p .. ':running'),
  redis.call('ZCARD', p .. ':failed'), tonumber(redis.call('HGET', p .. ':sums', 'bytes') or 0),
  oldest[2] and math.max(0, now - tonumber(oldest[2])) or -1 }`;

/** `JobStore` in Redis. */
export function createRedisJobStore({ client, call, prefix }: RedisJobStoreOptions): JobStore {
  const root = `${prefix}{~}:jobs`;
  const keyOf = (id: string): string => `${root}:${encodeKeyPart(id)}`;
  const run = (script: string, ...args: readonly (string | number)[]): Promise<unknown> =>
    call(() => client.eval(script, 1, root, ...args));
  const get = async (id: string): Promise<Job | null> => jobOf(id, await call(() => client.hgetall(keyOf(id))));
  return {
    add: async ({ id, tenant, operation, createdAt, expiresAt, request }, { count, perTenant, bytes }) => {
      const size = Buffer.byteLength(request);
      const args = [id, tenant, size, count, perTenant, bytes, operation, createdAt, expiresAt, request];
      return (await run(ADD, ...args)) === 1;
    },
    claim: async (holder, leaseMs, keepMs) => {
      const id = await run(CLAIM, holder, leaseMs, keepMs);
      return typeof id === 'string' ? await get(id) : null;
    },
    renew: async (id, holder, leaseMs) => (await run(RENEW, id, holder, leaseMs)) as 'held' | 'lost' | 'cancelled',
    putBack: async (id, holder, { waitMs, counts, keepMs, operation = '' }) => {
      const args = [id, holder, Math.ceil(waitMs), counts ? 1 : 0, operation, keepMs, SETTLED_MS];
      return (await run(PUT_BACK, ...args)) as 'queued' | 'cancelled' | 'lost';
    },
    finish: async (id, holder, { state, answer, keepMs }) =>
      (await run(FINISH, id, holder, state, answer ?? '', keepMs)) === 1,
    cancel: async (id, tenant, keepMs) =>
      ((await run(CANCEL, id, tenant, keepMs)) as 'cancelled' | 'running' | null) ?? null,
    get,
    drop: async (id) => {
      const state = await call(() => client.hget(keyOf(id), 'state'));
      if (state !== null && state !== 'queued' && state !== 'running') await call(() => client.del(keyOf(id)));
    },
    owed: async (forMs) => ((await run(OWED, forMs)) as readonly string[]).map(owedOf),
    paid: async ({ tenant, operation }) => {
      await call(() => client.zrem(`${root}:owed`, `${operation} ${tenant}`));
    },
    counts: async () => {
      const [queued = 0, running = 0, failed = 0, bytes = 0, oldest = -1] = (await run(COUNTS)) as readonly number[];
      return { queued, running, failed, bytes, oldestMs: oldest < 0 ? null : oldest };
    },
  };
}

/** As the scripts write it: an operation has no space. */
function owedOf(member: string): OwedReservation {
  const at = member.indexOf(' ');
  return { operation: member.slice(0, at) as OperationId, tenant: member.slice(at + 1) };
}

function jobOf(id: string, fields: Readonly<Record<string, string>>): Job | null {
  const { tenant, state, operation, created, expires, attempts, request, answer } = fields;
  if (state === undefined || tenant === undefined) return null;
  return {
    id,
    tenant,
    state: state as JobState,
    operation: operation as OperationId,
    createdAt: Number(created),
    expiresAt: Number(expires),
    attempts: Number(attempts),
    request: request ?? '',
    answer: answer ?? null,
  };
}
