import type { RolloutRecord } from '../../core/directory.ts';
import type { DirectoryStore } from '../../core/ports/directory-store.ts';
import type { Log } from '../../core/ports/telemetry.ts';

export interface FollowRolloutOptions {
  readonly store: Pick<DirectoryStore, 'get' | 'watch'>;
  /** The record is another one now, or there is none. Not called while the store is away. */
  readonly onChange: (record: RolloutRecord | null) => void | Promise<void>;
  readonly log: Log;
  /** How often it is read even without a notice. */
  readonly everyMs?: number;
}

/** Follows the record of the roll-out. `ready`: true once it was read, false when it was not within `deadlineMs`. */
export function followRollout({ store, onChange, log, everyMs = 1000 }: FollowRolloutOptions): {
  readonly ready: (deadlineMs: number) => Promise<boolean>;
  readonly close: () => void;
} {
  let seen: string | null = null;
  let reading: Promise<void> | null = null;
  let again = false;
  let isRead = false;
  let isClosed = false;

  async function readOnce(): Promise<void> {
    const record = await store.get('rollout', 'current');
    const name = record === null ? 'none' : `${record.rollout} ${record.version}`;
    isRead = true;
    if (name === seen || isClosed) return;
    seen = name;
    await onChange(record);
  }

  function read(): Promise<void> {
    if (reading !== null) {
      again = true;
      return reading;
    }
    reading = readOnce()
      .catch((reason: unknown) => {
        log.debug('the roll-out could not be read', { error: reason instanceof Error ? reason : undefined });
      })
      .finally(() => {
        reading = null;
        if (!again || isClosed) return;
        again = false;
        void read();
      });
    return reading;
  }

  const watching = store.watch((change) => {
    if (change === 'all' || change.kind === 'rollout') void read();
  });
  const timer = setInterval(() => void read(), everyMs);
  timer.unref();
  const first = read();
  return {
    ready: async (deadlineMs) => {
      let late: NodeJS.Timeout | undefined;
      await Promise.race([first, new Promise((done) => (late = setTimeout(done, deadlineMs)))]);
      clearTimeout(late);
      return isRead;
    },
    close: () => {
      isClosed = true;
      clearInterval(timer);
      watching.close();
    },
  };
}
