import { Cluster, Redis } from 'ioredis';
import type { RedisOptions } from 'ioredis';
import type { Snapshot } from '../../core/snapshot.ts';
import { restoreFastStrings } from './fast-strings.ts';

restoreFastStrings();

export type RedisClient = Redis | Cluster;
export type RedisConfig = NonNullable<Snapshot['redis']>;

const RECONNECT_MS = 200;
const CONNECT_TIMEOUT_MS = 1000;

/**
 * Never queues while unconnected and never sends a command twice: whether a call whose connection broke has run is not
 * known here, and scripts are idempotent so that the caller may repeat it. Reconnects for ever, at a steady pace.
 */
const COMMON = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  connectTimeout: CONNECT_TIMEOUT_MS,
  keepAlive: 10_000,
  maxLoadingRetryTime: RECONNECT_MS,
  retryStrategy: () => RECONNECT_MS,
  // Done by whoever subscribes: the client's own attempt, refused, would be a rejection that nobody handles.
  autoResubscribe: false,
  // A server that became a replica under an open connection: the master is elsewhere by now.
  reconnectOnError: (error: Error) => error.message.includes('READONLY'),
} as const satisfies RedisOptions;

/**
 * Connects in the background. `url`: `redis://`, `rediss://` (TLS) or the path of a unix socket; with sentinels or a cluster
 * only its credentials, database and TLS are used. `onError` gets every error event, so none is ever unhandled.
 */
export function connectRedis({
  redis,
  onError,
}: {
  readonly redis: RedisConfig;
  readonly onError: (error: Error) => void;
}): RedisClient {
  const client = open(redis);
  client.on('error', onError);
  return client;
}

function open({ url, sentinel, cluster }: RedisConfig): RedisClient {
  if (cluster !== null) {
    return new Cluster([...cluster], {
      enableOfflineQueue: false,
      clusterRetryStrategy: () => RECONNECT_MS,
      slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
      redisOptions: {
        ...credentials(url),
        autoResendUnfulfilledCommands: false,
        connectTimeout: CONNECT_TIMEOUT_MS,
        keepAlive: COMMON.keepAlive,
      },
    });
  }
  if (sentinel !== null) {
    return new Redis({
      ...COMMON,
      ...credentials(url),
      name: sentinel.name,
      sentinels: [...sentinel.nodes],
      sentinelRetryStrategy: () => RECONNECT_MS,
      failoverDetector: true,
    });
  }
  return new Redis(url, COMMON);
}

function credentials(url: string) {
  if (!url.includes('://')) return {};
  const { protocol, username, password, pathname } = new URL(url);
  const db = /^\/(\d+)$/.exec(pathname)?.[1];
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(db === undefined ? {} : { db: Number(db) }),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
  };
}
