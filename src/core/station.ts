import type { Arrived, RequestContext, Routed } from './context.ts';
import type { Candidate } from './decision.ts';
import type { Ending } from './ending.ts';
import type { LocalResponse } from './http.ts';
import type { MaybePromise } from './maybe-promise.ts';
import type { StationName } from './trail.ts';

/** A station's verdict that this request goes no further and is answered so. A refusal is a thrown `GatewayError`. */
export interface Respond {
  readonly respond: LocalResponse;
}

/** One try at one candidate. `number` counts from 1; `last` is true when no other candidate follows. */
export interface Attempt {
  readonly number: number;
  readonly candidate: Candidate;
  readonly last: boolean;
}

/** What a moment says of itself for the trail. */
export interface Note {
  readonly decision: string;
  readonly reason: string;
}

/** What a moment gives: its note, and what it adds to the context. */
export type Step<Adds extends object> = { readonly note: Note; readonly adds: Adds } | Respond;

/**
 * One of the six. Properties, not methods, so that the compiler refuses a wrong order. Every moment is optional, is timed
 * by the flow, and refuses by throwing a `GatewayError`.
 */
export interface Station<In extends Arrived, Adds extends object = object> {
  readonly name: StationName;
  /** When the head is here and the body not yet. */
  readonly head?: (ctx: Arrived) => MaybePromise<Step<Partial<Adds>>>;
  /** Once a request, in order. */
  readonly run?: (ctx: In) => MaybePromise<Step<Adds>>;
  /** Once a request, after every `run`: takes what the decision needs (a slot), and may wait for it; then it may decide anew. */
  readonly place?: (ctx: RequestContext) => MaybePromise<Note | Step<Partial<Routed>>>;
  /** Once a try, before it is sent. */
  readonly attempt?: (ctx: RequestContext, attempt: Attempt) => MaybePromise<Note>;
  /** Once a request that reached `head` or `run`, always, in reverse order; never throws. `ctx` may lack what was never added. */
  readonly finish?: (ctx: Partial<RequestContext> & Arrived, ending: Ending) => MaybePromise<void>;
}
