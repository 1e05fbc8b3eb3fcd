import type { RequestId } from '../core/ids.ts';
import type { RequestFlow } from './request-flow.ts';

/** The requests under way in this process, so that an attempt stream finds the request that it is a try of. */
export class LiveRequests {
  readonly #byId = new Map<RequestId, RequestFlow>();
  #idle: (() => void)[] = [];

  add(id: RequestId, flow: RequestFlow): void {
    this.#byId.set(id, flow);
  }

  get(id: RequestId): RequestFlow | undefined {
    return this.#byId.get(id);
  }

  remove(id: RequestId): void {
    this.#byId.delete(id);
    if (this.#byId.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Resolves when nothing is under way any more. */
  idle(): Promise<void> {
    return this.#byId.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Ends what is left, as cut by our own shutdown. */
  endAll(): void {
    for (const flow of [...this.#byId.values()]) flow.shutDown();
  }
}
