import type { ChatRequest, Endpoint } from './chat-request.ts';
import type { Decision } from './decision.ts';
import type { ClientDialect } from './dialect.ts';
import type { RequestHead } from './http.ts';
import type { OperationId, RequestId } from './ids.ts';
import type { LimitState } from './limit.ts';
import type { Assigned } from './ports/rollout.ts';
import type { Principal } from './principal.ts';
import type { Snapshot } from './snapshot.ts';
import type { Surged } from './surge.ts';
import type { Trail } from './trail.ts';

/** What is known when the head is here. Each later interface says what one station adds. */
export interface Arrived {
  readonly id: RequestId;
  readonly operation: OperationId;
  /** The id that the client sees: its own `x-request-id` where that is fit, else ours. */
  readonly shownId: string;
  readonly head: RequestHead;
  readonly endpoint: Endpoint;
  readonly dialect: ClientDialect;
  readonly config: Snapshot;
  /** Its side while two configurations are compared; null = they are not. */
  readonly rollout?: Assigned | null | undefined;
  /** `performance.now()` at arrival, and when the answer must be over. */
  readonly startedAt: number;
  readonly deadline: number;
  /** Unix milliseconds at arrival. */
  readonly time: number;
  /** Fires when the client is gone or the request is over. */
  readonly signal: AbortSignal;
  readonly trail: Trail;
}

export interface Authenticated {
  readonly principal: Principal;
}

export interface Received {
  readonly request: ChatRequest;
}

/** `held`: booked in the store under the operation. `unbooked`: the store is gone; the route's rule decides. */
export type Admission =
  | { readonly kind: 'held'; readonly limits: readonly LimitState[]; readonly reservedTokens: number }
  | {
      readonly kind: 'unbooked';
      readonly reason: string;
      /** May the store hold it all the same? */ readonly mayHold: boolean;
    };

/** Under high load only. */
export interface Sheltered {
  readonly surge?: Surged | undefined;
}

export interface Scheduled {
  readonly admission: Admission;
}

export interface Routed {
  readonly decision: Decision;
}

/** `enhance` has passed the prompt. (History, retrieval and compression will add what they changed.) */
export interface Enhanced {
  readonly prompt: { readonly verdict: 'clean' | 'unchecked' };
}

export type RequestContext = Arrived & Authenticated & Received & Sheltered & Scheduled & Routed & Enhanced;
