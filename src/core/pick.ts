import type { LocalResponse, RequestHead, ResponseHead } from './http.ts';

/** Where a request of another proxy shall go: `ip:port`, best first; or why it shall not. */
export type Picked =
  | { readonly kind: 'picked'; readonly addresses: readonly [string, ...string[]] }
  | { readonly kind: 'refused'; readonly response: LocalResponse };

/** One request of a proxy that asks where to send it, and then tells how it went. Nothing of it throws. */
export interface PickExchange {
  /** Called once. `body` null: it is not shown, or too long to be looked at. */
  readonly pick: (body: Buffer | null) => Picked;
  /** `served`: the endpoint that answers, as the proxy tells it; null = it does not. `seesBody`: is its body shown? */
  readonly onResponseHead: (head: ResponseHead, served: string | null, seesBody: boolean) => void;
  readonly onResponseBody: (chunk: Buffer) => void;
  /** The answer is whole. */
  readonly onResponseEnd: () => void;
  /** The stream is over. Called once. */
  readonly close: () => void;
}

/** `subset`: the only endpoints that may be picked; null = all of the pool. */
export type PickExchangeFactory = (head: RequestHead, subset: ReadonlySet<string> | null) => PickExchange;
