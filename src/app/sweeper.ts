import type { QuotaStore } from '../core/ports/quota-store.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';

/** How often reservations of processes that died are looked for. */
const SWEEP_MS = 5000;

/** Ends reservations that nobody settled, again and again. Gives what stops it. */
export function startSweeper(store: QuotaStore, log: Log, metrics: Pick<Metrics, 'anomaly'>): () => void {
  const sweep = async (): Promise<void> => {
    try {
      const ended = await store.sweep();
      if (ended > 0) log.warn('ended reservations that nobody settled', { count: ended });
    } catch {
      // The store says itself when it is gone.
      metrics.anomaly('sweep_failed');
    }
  };
  const timer = setInterval(() => void sweep(), SWEEP_MS);
  timer.unref();
  return () => clearInterval(timer);
}
