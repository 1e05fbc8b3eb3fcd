import type { Metrics } from '../../core/ports/telemetry.ts';
import type { RequestTrace, TraceStore } from '../../core/ports/trace-store.ts';
import type { RedisClient } from './connection.ts';
import type { Keys } from './keys.ts';
import type { RunScript } from './script-runner.ts';
import type { StoreBreaker } from './store-breaker.ts';

/** Traces of one id, newest first. */
const PER_ID = 10;
/** UTF-16 units of one trace. */
const MAX_LENGTH = 64 * 1024;
const IN_FLIGHT = 256;

/** Best effort: a trace that is too large, or that would have to wait, is dropped and counted (`trace_dropped`). */
export function createRedisTraceStore({
  client,
  run,
  keys,
  breaker,
  metrics,
}: {
  readonly client: Pick<RedisClient, 'lrange'>;
  readonly run: RunScript;
  readonly keys: Keys;
  readonly breaker: Pick<StoreBreaker, 'call' | 'state'>;
  readonly metrics: Pick<Metrics, 'anomaly'>;
}): TraceStore {
  let inFlight = 0;
  const put = async (key: string, text: string, keepMs: number): Promise<void> => {
    inFlight += 1;
    try {
      await breaker.call(() => run('trace', [key], [text, PER_ID, Math.max(1, Math.ceil(keepMs))]));
    } catch {
      metrics.anomaly('trace_dropped');
    } finally {
      inFlight -= 1;
    }
  };
  return {
    put: (shownId, text, keepMs) => {
      if (breaker.state() === 'down' || inFlight >= IN_FLIGHT || text.length > MAX_LENGTH) {
        metrics.anomaly('trace_dropped');
        return;
      }
      void put(keys.trace(shownId), text, keepMs);
    },
    get: async (shownId) => {
      const texts = await breaker.call(() => client.lrange(keys.trace(shownId), 0, PER_ID - 1));
      return texts.map((text) => JSON.parse(text) as RequestTrace);
    },
  };
}
