import type { RedisConfig } from './connection.ts';

/** Where a Redis is looked for, for people: its URL without credentials, or the nodes of its sentinels or cluster. */
export function redisPlace({ url, sentinel, cluster }: Pick<RedisConfig, 'url' | 'sentinel' | 'cluster'>): string {
  const nodes = cluster ?? sentinel?.nodes;
  if (nodes === undefined) return url.replace(/\/\/[^@/]*@/, '//***@');
  return nodes.map(({ host, port }) => `${host}:${port}`).join(', ');
}
