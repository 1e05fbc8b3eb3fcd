import { randomUUID } from 'node:crypto';
import type { IdempotencyStore, IdempotencyVerdict, StoredAnswer } from '../../core/ports/idempotency-store.ts';
import type { RedisClient } from './connection.ts';
import { encodeKeyPart } from './keys.ts';
import type { StoreBreaker } from './store-breaker.ts';

/** What lies under a key: a claim, or the answer. */
interface Entry {
  readonly fingerprint: string;
  readonly claim?: string;
  readonly answer?: StoredAnswer;
}

/** Deletes the key only while it holds this claim: after the lease it may be another's. */
const RELEASE = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`;

/** One string a key, `<prefix>idem:<key>`, with the lease or the time of keeping as its expiry. */
export function createRedisIdempotencyStore({
  client,
  keyPrefix,
  call,
}: {
  readonly client: Pick<RedisClient, 'set' | 'get' | 'eval'>;
  readonly keyPrefix: string;
  readonly call: StoreBreaker['call'];
}): IdempotencyStore {
  const place = (key: string): string => `${keyPrefix}idem:${encodeKeyPart(key)}`;
  return {
    begin: ({ key, fingerprint, leaseMs }) =>
      call(async (): Promise<IdempotencyVerdict> => {
        const claim = JSON.stringify({ fingerprint, claim: randomUUID() } satisfies Entry);
        if ((await client.set(place(key), claim, 'PX', leaseMs, 'NX')) === 'OK') return { kind: 'new', claim };
        const text = await client.get(place(key));
        // It ran out between the two commands: the sender may try again at once.
        if (text === null) return { kind: 'running' };
        const entry = JSON.parse(text) as Entry;
        if (entry.fingerprint !== fingerprint) return { kind: 'other' };
        return entry.answer === undefined ? { kind: 'running' } : { kind: 'done', answer: entry.answer };
      }),
    finish: ({ key, fingerprint, answer, keepMs }) =>
      call(async () => {
        await client.set(place(key), JSON.stringify({ fingerprint, answer } satisfies Entry), 'PX', keepMs);
      }),
    release: ({ key, claim }) =>
      call(async () => {
        await client.eval(RELEASE, 1, place(key), claim);
      }),
  };
}
