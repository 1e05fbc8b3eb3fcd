import type { Redis } from '../core/snapshot.ts';

/** Environment variable by which workers learn of a Redis that `tokenlat up` started for them. */
export const LOCAL_REDIS_VARIABLE = 'TOKENLAT_LOCAL_REDIS_URL';

/** The Redis beside us, where the configuration names none; `null` when there is none. */
export function localRedis(): Redis | null {
  const url = process.env[LOCAL_REDIS_VARIABLE];
  if (url === undefined || url === '') return null;
  return { url, sentinel: null, cluster: null, commandTimeoutMs: 250, keyPrefix: 'tl:' };
}
