import type { Clock } from '../core/ports/clock.ts';

/** How long nothing is sent directly once Envoy turned out to have no route for it. */
const PAUSE_MS = 60_000;

/** Whether first tries may go without a stream of their own. */
export class DirectPath {
  readonly #clock: Clock;
  #closedUntil = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isOpen(): boolean {
    return this.#clock.now() >= this.#closedUntil;
  }

  /** A first try had a stream all the same: that works, but its request is made and sent twice. */
  close(): void {
    this.#closedUntil = this.#clock.now() + PAUSE_MS;
  }
}
