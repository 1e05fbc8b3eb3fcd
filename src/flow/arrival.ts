import type { Endpoint } from '../core/chat-request.ts';
import type { Arrived } from '../core/context.ts';
import type { ClientDialect } from '../core/dialect.ts';
import { GatewayError } from '../core/error.ts';
import type { RequestHead } from '../core/http.ts';
import { newRequestId, operationOf } from '../core/ids.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { Trail } from '../core/trail.ts';

const FIT_ID = /^[\w.:+/=@-]{1,128}$/;

export interface ArrivalOptions {
  readonly head: RequestHead;
  readonly endpoint: Endpoint;
  readonly dialect: ClientDialect;
  readonly config: Snapshot;
  readonly clock: Clock;
  readonly worker: number;
  readonly signal: AbortSignal;
}

/** The context of a request that has just come. Throws `GatewayError` for headers that make no sense. */
export function arrive({ head, endpoint, dialect, config, clock, worker, signal }: ArrivalOptions): Arrived {
  const id = newRequestId(worker);
  const startedAt = clock.now();
  return {
    id,
    operation: operationOf(id),
    shownId: shownIdOf(head, id),
    head,
    endpoint,
    dialect,
    config,
    startedAt,
    deadline: startedAt + timeoutOf(head, config),
    time: clock.time(),
    signal,
    trail: new Trail(),
  };
}

/** The client's own `x-request-id` where it is fit to be shown, else `fallback`. */
export function shownIdOf(head: RequestHead, fallback: string): string {
  const given = head.headers.get('x-request-id');
  return given !== undefined && FIT_ID.test(given) ? given : fallback;
}

function timeoutOf(head: RequestHead, config: Snapshot): number {
  const asked = head.headers.get('x-request-timeout-ms');
  if (asked === undefined) return config.timeouts.requestMs;
  if (!/^[1-9]\d{0,8}$/.test(asked)) {
    throw new GatewayError('invalid_header', 'x-request-timeout-ms must be a whole number of milliseconds above 0.', {
      param: 'x-request-timeout-ms',
    });
  }
  return Math.min(Number(asked), config.timeouts.maxRequestMs);
}
