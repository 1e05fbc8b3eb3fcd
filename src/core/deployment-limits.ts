/** Requests at once. */
export interface Concurrency {
  /** Requests at once, over all workers together; where it goes by instance, while all endpoints are well. */
  readonly limit: number;
  /** It follows the endpoints that are well: so many at each, and the part of that which is used. */
  readonly perInstance: { readonly slots: number; readonly safety: number } | null;
}

/** Of all workers of all replicas together; null = no limit. */
export interface Rates {
  readonly tokensPerSecond: number | null;
  readonly requestsPerSecond: number | null;
  /** What may come at once, as the time in which the rate allows it. */
  readonly burstMs: number;
}

/** Where requests wait for room. */
export interface Queue {
  readonly size: number;
  readonly bytes: number;
  readonly timeoutMs: number;
  /** What the client reads when the queue is full or the wait too long. */
  readonly text: string | null;
}
