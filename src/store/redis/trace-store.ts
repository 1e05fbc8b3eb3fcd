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

/** How long a trace waits for others to go with: a command costs more than what it carries. Far below what anybody notices. */
const LINGER_MS = 5;
/** Traces, and UTF-16 units of them, that go together at most. */
const MOST_TOGETHER = 32;
const MOST_UNITS = 64 * 1024;

interface Waiting {
  readonly keys: string[];
  /** For each its text and how long it is kept. */
  readonly args: (string | number)[];
  units: number;
  readonly timer: NodeJS.Timeout;
}

/**
 * Best effort: a trace that is too large, or that would have to wait, is dropped and counted (`trace_dropped`). Traces of a few
 * milliseconds go out in one command; in a cluster, where their keys lie on different nodes, each in its own.
 */
export function createRedisTraceStore({
  client,
  run,
  keys,
  breaker,
  metrics,
}: {
  readonly client: Pick<RedisClient, 'lrange' | 'isCluster'>;
  readonly run: RunScript;
  readonly keys: Keys;
  readonly breaker: Pick<StoreBreaker, 'call' | 'state'>;
  readonly metrics: Pick<Metrics, 'anomaly'>;
}): TraceStore {
  const most = client.isCluster ? 1 : MOST_TOGETHER;
  let inFlight = 0;
  let waiting: Waiting | null = null;

  function send(): void {
    if (waiting === null) return;
    const { keys: names, args, timer } = waiting;
    waiting = null;
    clearTimeout(timer);
    const over = (): void => {
      inFlight -= names.length;
    };
    breaker
      .call(() => run('trace', names, [PER_ID, ...args]))
      .then(over, () => {
        over();
        for (const _ of names) metrics.anomaly('trace_dropped');
      });
  }

  return {
    put: (shownId, text, keepMs) => {
      if (breaker.state() === 'down' || inFlight >= IN_FLIGHT || text.length > MAX_LENGTH) {
        metrics.anomaly('trace_dropped');
        return;
      }
      inFlight += 1;
      waiting ??= { keys: [], args: [], units: 0, timer: setTimeout(send, LINGER_MS) };
      waiting.keys.push(keys.trace(shownId));
      waiting.args.push(text, Math.max(1, Math.ceil(keepMs)));
      waiting.units += text.length;
      if (waiting.keys.length >= most || waiting.units >= MOST_UNITS) send();
    },
    get: async (shownId) => {
      send();
      const texts = await breaker.call(() => client.lrange(keys.trace(shownId), 0, PER_ID - 1));
      return texts.map((text) => JSON.parse(text) as RequestTrace);
    },
  };
}
