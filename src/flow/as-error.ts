import { GatewayError } from '../core/error.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import type { FlowOptions } from './flow-options.ts';

/** Any thrown value as an error for the client; what is a fault of ours is logged with its cause and counted. */
export function createAsError({
  log,
  metrics,
}: {
  readonly log: Log;
  readonly metrics: Metrics;
}): FlowOptions['asError'] {
  return (reason, ctx) => {
    const error = GatewayError.from(reason);
    if (error.code === 'internal_error') {
      const cause = error.cause instanceof Error ? error.cause : error;
      log.error('request failed inside the gateway', { request_id: ctx?.id, error: cause });
      metrics.anomaly('internal_error');
    }
    return error;
  };
}
