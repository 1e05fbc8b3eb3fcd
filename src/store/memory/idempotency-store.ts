import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/ports/clock.ts';
import type { IdempotencyStore, StoredAnswer } from '../../core/ports/idempotency-store.ts';

interface Entry {
  readonly fingerprint: string;
  readonly claim: string | null;
  readonly answer: StoredAnswer | null;
  readonly until: number;
}

/** For one process. Holds at most `max` keys; the oldest go first. */
export function createMemoryIdempotencyStore({
  clock,
  max = 10_000,
}: {
  readonly clock: Pick<Clock, 'time'>;
  readonly max?: number;
}): IdempotencyStore {
  const entries = new Map<string, Entry>();
  const keep = (key: string, entry: Entry): void => {
    entries.delete(key);
    if (entries.size >= max) {
      const oldest = entries.keys().next();
      if (oldest.done !== true) entries.delete(oldest.value);
    }
    entries.set(key, entry);
  };
  return {
    begin: async ({ key, fingerprint, leaseMs }) => {
      const entry = entries.get(key);
      if (entry === undefined || entry.until <= clock.time()) {
        const claim = randomUUID();
        keep(key, { fingerprint, claim, answer: null, until: clock.time() + leaseMs });
        return { kind: 'new', claim };
      }
      if (entry.fingerprint !== fingerprint) return { kind: 'other' };
      return entry.answer === null ? { kind: 'running' } : { kind: 'done', answer: entry.answer };
    },
    finish: async ({ key, fingerprint, answer, keepMs }) =>
      keep(key, { fingerprint, claim: null, answer, until: clock.time() + keepMs }),
    release: async ({ key, claim }) => {
      if (entries.get(key)?.claim === claim) entries.delete(key);
    },
  };
}
