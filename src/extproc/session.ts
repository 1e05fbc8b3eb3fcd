import type { MaybePromise } from '../core/maybe-promise.ts';
import type { ProcessingRequest } from './codec/processing-request.ts';
import type { ProcessingResponse } from './codec/processing-response.ts';

/** What a session may do to its stream. Nothing of it throws, and after the stream is over nothing of it has an effect. */
export interface SessionOutput {
  readonly send: (response: ProcessingResponse) => void;
  /** Ends the stream well. Only for one on which every message is answered: Envoy goes on without us. */
  readonly finish: () => void;
  /** Runs what does not come from a message (a timer) inside the stream's error boundary. */
  readonly guard: (step: () => void) => void;
}

/** One ext_proc stream. Messages come one at a time: the next one waits for the promise of the last. */
export interface Session {
  /** Throws `StreamFault` for what ends the stream with a status of its own. */
  readonly receive: (message: ProcessingRequest) => MaybePromise<void>;
  /** Is Envoy waiting for an answer? */
  readonly owes: () => boolean;
  /** The stream is over. Called exactly once. */
  readonly close: () => void;
}

export type OpenSession = (output: SessionOutput) => Session;
