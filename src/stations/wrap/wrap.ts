import type { RequestContext } from '../../core/context.ts';
import { GatewayError } from '../../core/error.ts';
import type { Json } from '../../core/json.ts';
import type { AuditLog } from '../../core/ports/audit.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import type { RequestTrace, TraceStore } from '../../core/ports/trace-store.ts';
import type { Station } from '../../core/station.ts';
import { traceOf } from './trace.ts';

export interface WrapOptions {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly traces: TraceStore;
  readonly audit: AuditLog & {
    /** What the record keeps of a prompt: nothing, a keyed hash, or cipher text, as the configuration says. */
    readonly prompt: (texts: readonly string[]) => Json;
  };
}

/**
 * The last station. At the end it tells the request's story once: to the audit, the log, the metrics and `tokenlat trace`.
 * Where what cannot be proven must not happen (`audit.on_error: block`), it refuses requests while the audit fails.
 */
export function createWrap({ log, metrics, traces, audit }: WrapOptions): Station<RequestContext> {
  const recorded = (ctx: Partial<RequestContext>, trace: RequestTrace): RequestTrace => {
    const prompt = ctx.request === undefined ? null : audit.prompt(ctx.request.texts.map(({ text }) => text));
    return prompt === null ? trace : { ...trace, prompt };
  };

  return {
    name: 'wrap',
    head(ctx) {
      if (ctx.config.audit?.onError === 'block' && audit.state() === 'failing') {
        throw new GatewayError('audit_unavailable', 'Requests cannot be recorded at the moment. Please try again.', {
          retryAfterMs: 1000,
        });
      }
      return { note: { decision: 'recorded', reason: ctx.config.audit === null ? 'no audit' : 'audit' }, adds: {} };
    },
    finish(ctx, ending) {
      metrics.request(ctx, ending);
      const trace = traceOf(ctx, ending);
      if (ctx.config.audit !== null) audit.append({ kind: 'request', time: ctx.time, facts: recorded(ctx, trace) });
      log.info('request', trace);
      // Whoever is nobody may call itself by any id: it must not push out what others look for.
      if (ctx.principal !== undefined) traces.put(ctx.shownId, trace, ctx.config.ledger.keepMs);
    },
  };
}
