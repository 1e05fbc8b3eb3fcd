import type { AttemptExchange } from '../core/exchange.ts';
import type { RequestId } from '../core/ids.ts';
import { PassingMap } from '../lib/passing-map/passing-map.ts';

/** A request under way, as others of this process see it. */
export interface LiveRequest {
  /** A try begins at this cluster; `isConnected`: on a connection that stood already; `address`: of the endpoint. */
  attempt(cluster: string, isConnected?: boolean, address?: string): AttemptExchange;
  /** Envoy says that the upstream broke its answer. */
  upstreamCut(): void;
  /** Our own shutdown has waited long enough. */
  shutDown(): void;
}

/** The requests under way in this process, so that an attempt stream finds the request that it is a try of. */
export class LiveRequests {
  readonly #byId = new PassingMap<RequestId, LiveRequest>();
  readonly #finishing = new Set<Promise<void>>();
  #idle: (() => void)[] = [];

  add(id: RequestId, request: LiveRequest): void {
    this.#byId.set(id, request);
  }

  get(id: RequestId): LiveRequest | undefined {
    return this.#byId.get(id);
  }

  remove(id: RequestId): void {
    this.#byId.take(id);
    if (this.#byId.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Resolves when nothing is under way any more. */
  idle(): Promise<void> {
    return this.#byId.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Keeps the finishing work of a request that is over, until it is done. */
  finishing(work: Promise<void>): void {
    this.#finishing.add(work);
    const forget = (): void => void this.#finishing.delete(work);
    work.then(forget, forget);
  }

  /** Resolves when the finishing work of all requests so far is done. */
  async finished(): Promise<void> {
    await Promise.allSettled(this.#finishing);
  }

  /** Ends what is left, as cut by our own shutdown. */
  endAll(): void {
    for (const request of this.#byId.values()) request.shutDown();
  }
}
