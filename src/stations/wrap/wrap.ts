import type { Arrived, RequestContext } from '../../core/context.ts';
import type { Ending } from '../../core/ending.ts';
import { GatewayError } from '../../core/error.ts';
import type { Json } from '../../core/json.ts';
import type { AuditLog } from '../../core/ports/audit.ts';
import type { KnownEpoch } from '../../core/ports/epoch-store.ts';
import type { Log, Metrics } from '../../core/ports/telemetry.ts';
import type { RequestTrace, TraceStore } from '../../core/ports/trace-store.ts';
import type { Station } from '../../core/station.ts';
import { auditFacts } from './audit-facts.ts';
import { bookingFacts } from './booking-facts.ts';
import { traceOf } from './trace.ts';

export interface WrapOptions {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly traces: TraceStore;
  readonly audit: AuditLog & {
    /** What the record keeps of a prompt: nothing, a keyed hash, or cipher text, as the configuration says. */
    readonly prompt: (texts: readonly string[]) => Json;
  };
  /** The state of the store that was there last. Default: not known. */
  readonly epoch?: () => KnownEpoch | null;
}

/**
 * The last station. At the end it tells the request's story once: to the audit, the log, the metrics and `tokenlat trace`.
 * Where what cannot be proven must not happen (`audit.on_error: block`), it refuses requests while the audit fails.
 */
export function createWrap({ log, metrics, traces, audit, epoch = () => null }: WrapOptions): Station<RequestContext> {
  /** What the record holds beside the trace: what a lost ledger is made from again, and the state of the store by then. */
  const recorded = (ctx: Partial<RequestContext> & Arrived, ending: Ending, trace: RequestTrace): RequestTrace => {
    const prompt = ctx.request === undefined ? null : audit.prompt(ctx.request.texts.map(({ text }) => text));
    const known = epoch();
    return {
      ...auditFacts(ctx, ending, trace),
      ...(prompt === null ? {} : { prompt }),
      booking: bookingFacts(ctx, ending),
      ...(known === null || known.id === '' ? {} : { store_epoch: known.id, store_at: known.at }),
    };
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
      if (ctx.config.audit !== null)
        audit.append({ kind: 'request', time: ctx.time, facts: recorded(ctx, ending, trace) });
      const text = JSON.stringify(trace);
      log.info('request', trace, text);
      // Whoever is nobody may call itself by any id: it must not push out what others look for.
      if (ctx.principal !== undefined) traces.put(ctx.shownId, text, ctx.config.ledger.keepMs);
    },
  };
}
