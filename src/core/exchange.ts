import type { Body } from './body-pieces.ts';
import type { Attributes, LocalResponse, RequestHead, ResponseHead } from './http.ts';
import type { MaybePromise } from './maybe-promise.ts';
import type { Mutation } from './mutation.ts';

/**
 * `hold`: nothing to say yet. `forward`: go on to the route that the metadata names, with `body` as it is; without one each
 * try makes its own. `respond`: answer in place of the upstream.
 */
export type RequestReply =
  | { readonly kind: 'hold' }
  | { readonly kind: 'forward'; readonly mutation: Mutation; readonly body?: Body }
  | { readonly kind: 'respond'; readonly response: LocalResponse; readonly metadata?: Mutation['metadata'] };

/**
 * `hold`: keep the head (and what came of the body) back. `send`: the first one answers the head with `head`; chunks of any
 * size follow. After `end` whatever the upstream still says is ignored. To replace an answer: `:status` in `head` and own chunks.
 */
export type ResponseReply =
  | { readonly kind: 'hold' }
  | {
      readonly kind: 'send';
      readonly head?: Mutation;
      readonly chunks: readonly Uint8Array[];
      readonly end: boolean;
      readonly metadata?: Mutation['metadata'];
    };

/** One client request as the flow sees it. The session calls in legal order and `close` exactly once, whatever happens. */
export interface RequestExchange {
  readonly onRequestHead: (head: RequestHead, end: boolean) => MaybePromise<RequestReply>;
  /**
   * Takes the chunk: nobody else may use it from then on. `trailers`: with the `end` of the body the request is not over, its
   * trailers follow or are there.
   */
  readonly onRequestBody: (chunk: Buffer, end: boolean, trailers?: boolean) => MaybePromise<RequestReply>;
  readonly onResponseHead: (head: ResponseHead, end: boolean) => ResponseReply;
  readonly onResponseBody: (chunk: Buffer, end: boolean) => ResponseReply;
  /** The stream is over. Whether the request is, and how, only the flow knows. */
  readonly close: () => void;
}

/** What a session lends to a flow: a way to speak unasked, for the deadline. Ignored once the response has ended. */
export interface RequestPort {
  /** Sends on the response side; with `respond` when no response head has come yet. */
  readonly push: (reply: ResponseReply | Extract<RequestReply, { readonly kind: 'respond' }>) => void;
}

export type RequestExchangeFactory = (attributes: Attributes, port: RequestPort) => RequestExchange;

/**
 * How much of its answer a try sees before the client does: nothing, the head, or head and body up to our reply. The route
 * that Envoy takes decides it, so every try of a request has the same.
 */
export type Watch = 'none' | 'head' | 'body';

/** The translated request of one try: replaces headers and body whole. */
export interface AttemptRequest {
  readonly kind: 'replace';
  readonly mutation: Mutation;
  readonly body: Body;
  readonly watch: Watch;
}

/** `continue` lets the response go on with this mutation and ends our part in the attempt; `hold` waits for the next chunk. */
export type AttemptReply = { readonly kind: 'hold' } | { readonly kind: 'continue'; readonly mutation: Mutation };

/** One try at one backend. After a reply that is not `hold` nothing more is asked, and Envoy passes the rest on untouched. */
export interface AttemptExchange {
  readonly onRequestHead: (
    head: RequestHead,
  ) => MaybePromise<AttemptRequest | { readonly kind: 'respond'; readonly response: LocalResponse }>;
  readonly onResponseHead: (head: ResponseHead, end: boolean) => MaybePromise<AttemptReply>;
  readonly onResponseBody: (chunk: Buffer, end: boolean) => MaybePromise<AttemptReply>;
  readonly close: () => void;
}

/** `id` is what `tokenlat.request: id` of the request's own metadata said; empty when Envoy sent none. */
export type AttemptExchangeFactory = (id: string, attributes: Attributes) => MaybePromise<AttemptExchange>;
