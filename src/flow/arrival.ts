import type { ChatRequest, Endpoint } from '../core/chat-request.ts';
import type { Admission, Arrived, Enhanced } from '../core/context.ts';
import type { Decision } from '../core/decision.ts';
import type { ClientDialect } from '../core/dialect.ts';
import { GatewayError } from '../core/error.ts';
import type { RequestHead } from '../core/http.ts';
import { newRequestId, type OperationId, operationOf, type RequestId } from '../core/ids.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { Principal } from '../core/principal.ts';
import type { Snapshot } from '../core/snapshot.ts';
import type { Surged } from '../core/surge.ts';
import { Trail } from '../core/trail.ts';

const FIT_ID = /^[\w.:+/=@-]{1,128}$/;

export interface ArrivalOptions {
  readonly head: RequestHead;
  readonly endpoint: Endpoint;
  readonly dialect: ClientDialect;
  readonly config: Snapshot;
  readonly clock: Clock;
  readonly worker: number;
  readonly signalOf: () => AbortSignal;
}

/**
 * The context of one request. Every field is there from the start, so that all contexts have one shape for the engine; what
 * a station adds is `undefined` until then.
 */
export class LiveContext implements Arrived {
  readonly id: RequestId;
  operation: OperationId;
  readonly shownId: string;
  readonly head: RequestHead;
  readonly endpoint: Endpoint;
  readonly dialect: ClientDialect;
  config: Snapshot;
  rollout: Arrived['rollout'] = null;
  readonly startedAt: number;
  deadline: number;
  readonly time: number;
  readonly trail = new Trail();
  readonly #signalOf: () => AbortSignal;
  principal: Principal | undefined = undefined;
  request: ChatRequest | undefined = undefined;
  surge: Surged | undefined = undefined;
  admission: Admission | undefined = undefined;
  decision: Decision | undefined = undefined;
  prompt: Enhanced['prompt'] | undefined = undefined;

  constructor({ head, endpoint, dialect, config, clock, worker, signalOf }: ArrivalOptions) {
    this.id = newRequestId(worker);
    this.operation = operationOf(this.id);
    this.shownId = shownIdOf(head, this.id);
    this.head = head;
    this.endpoint = endpoint;
    this.dialect = dialect;
    this.config = config;
    this.startedAt = clock.now();
    this.deadline = this.startedAt + timeoutOf(head, config);
    this.time = clock.time();
    this.#signalOf = signalOf;
  }

  /** Made when somebody asks: hardly any request waits for anything. */
  get signal(): AbortSignal {
    return this.#signalOf();
  }
}

/** The context of a request that has just come. Throws `GatewayError` for headers that make no sense. */
export function arrive(options: ArrivalOptions): LiveContext {
  return new LiveContext(options);
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
