import type { RequestContext } from '../../core/context.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import type { TraceStore } from '../../core/ports/trace-store.ts';
import type { Station } from '../../core/station.ts';
import { traceOf } from './trace.ts';

export interface WrapOptions {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly traces: TraceStore;
}

/** The last station: at the end it tells the request's story once, to the log, the metrics and `tokenlat trace`. */
export function createWrap({ log, metrics, traces }: WrapOptions): Station<RequestContext> {
  return {
    name: 'wrap',
    finish(ctx, ending) {
      metrics.request(ctx, ending);
      const trace = traceOf(ctx, ending);
      log.info('request', trace);
      traces.put(ctx.shownId, trace, ctx.config.ledger.keepMs);
    },
  };
}
