import type { Metrics } from '../../core/ports/telemetry.ts';
import type { Deployment } from '../../core/snapshot.ts';
import { createSemaphore, type Semaphore } from '../../lib/semaphore/semaphore.ts';

/** The slots of each deployment that has a bound, as far as this worker may use them. */
export interface SlotPools {
  /** Null for a deployment without a bound: it always has room. */
  poolFor(deployment: Deployment, generation: number): Semaphore | null;
}

/** The part of `total` that worker `index` of `workers` gets: all parts together are `total`. */
export function shareOf(total: number, workers: number, index: number): number {
  return Math.floor(total / workers) + (index < total % workers ? 1 : 0);
}

/**
 * Keeps a pool for each deployment over reloads of the configuration; the newest generation that asked sets its bounds.
 * Each worker gets at least one slot, so that a limit below the number of workers is exceeded rather than a worker starved.
 */
export function createSlotPools({
  workers,
  workerIndex,
  metrics,
}: {
  readonly workers: number;
  readonly workerIndex: number;
  readonly metrics: Metrics;
}): SlotPools {
  const pools = new Map<string, { readonly semaphore: Semaphore; generation: number }>();

  return {
    poolFor({ id, concurrency }, generation) {
      if (concurrency === null) return null;
      const known = pools.get(id);
      if (known !== undefined && known.generation >= generation) return known.semaphore;
      const limit = Math.max(1, shareOf(concurrency.limit, workers, workerIndex));
      const queue = shareOf(concurrency.queue, workers, workerIndex);
      if (known !== undefined) {
        known.generation = generation;
        known.semaphore.resize(limit, queue);
        return known.semaphore;
      }
      const onChange = (running: number, waiting: number): void => metrics.queue(id, running, waiting);
      const semaphore = createSemaphore({ limit, queue, onChange });
      pools.set(id, { semaphore, generation });
      return semaphore;
    },
  };
}
