import type { Clock } from '../../core/ports/clock.ts';
import type { LiveStore, QueueRow, RoutingWord, SurgeWord } from '../../core/ports/live.ts';
import type { CollectedFigures } from './live-figures.ts';

export interface PublishLiveOptions {
  readonly figures: Pick<CollectedFigures, 'rows'>;
  readonly store: Pick<LiveStore, 'publish' | 'leave'>;
  /** Names the server that this process is a worker of. */
  readonly replica: string;
  readonly worker: number;
  /** Requests under way here. */
  readonly running: () => number;
  readonly queues?: () => readonly QueueRow[];
  /** What others need for their decisions. */
  readonly routing?: () => RoutingWord;
  readonly surge?: () => SurgeWord;
  readonly clock: Pick<Clock, 'time'>;
  readonly everyMs?: number;
  /** A worker that was not heard of for this long is gone. */
  readonly keepMs?: number;
}

/** Tells every second what this worker does, off the way of requests. While the store is away, nothing is told and nobody waits. */
export function publishLive({
  figures,
  store,
  replica,
  worker,
  running,
  queues,
  routing,
  surge,
  clock,
  everyMs = 1000,
  keepMs = 5000,
}: PublishLiveOptions): { readonly close: () => Promise<void> } {
  const startedAt = clock.time();
  let telling = false;
  const tell = async (): Promise<void> => {
    if (telling) return;
    telling = true;
    try {
      const state = {
        replica,
        worker,
        startedAt,
        at: clock.time(),
        running: running(),
        rows: figures.rows(),
        ...(queues === undefined ? {} : { queues: queues() }),
        ...(routing === undefined ? {} : { routing: routing() }),
        ...(surge === undefined ? {} : { surge: surge() }),
      };
      await store.publish(state, keepMs);
    } catch {
      // The store says itself when it is gone, and the next second tells everything anew.
    } finally {
      telling = false;
    }
  };
  const timer = setInterval(() => void tell(), everyMs);
  timer.unref();
  void tell();
  return {
    close: async () => {
      clearInterval(timer);
      await store.leave(replica, worker).catch(() => {});
    },
  };
}
