import { H2_ERROR, MAX_STREAM_ID } from './frame.ts';
import type { Outlet } from './outlet.ts';

const DRAIN = Buffer.from('drain...');
const ALIVE = Buffer.from('alive...');

/** What we ask the peer by PING: is it there, and has it seen that we go? */
export class Pings {
  readonly #outlet: Outlet;
  #isAsking = false;
  #isDraining = false;

  constructor(outlet: Outlet) {
    this.#outlet = outlet;
  }

  /** Has the last question no answer yet? */
  get isWaiting(): boolean {
    return this.#isAsking;
  }

  ask(): void {
    this.#isAsking = true;
    this.#send(ALIVE);
  }

  /**
   * Asks the peer to open no more streams. Those that it had already begun are served: which ones is known when it has
   * answered the PING (RFC 9113, section 6.8).
   */
  drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#outlet.out.goaway(MAX_STREAM_ID, H2_ERROR.none, 'draining');
    this.#send(DRAIN);
  }

  /** An answer has come. True when the peer knows by it that it may open no more streams. */
  answered(payload: Buffer): boolean {
    this.#isAsking = false;
    return this.#isDraining && payload.equals(DRAIN);
  }

  #send(payload: Buffer): void {
    this.#outlet.out.ping(payload, false);
    this.#outlet.flushSoon();
  }
}
