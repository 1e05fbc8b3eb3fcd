import { isPromise } from '../core/maybe-promise.ts';
import type { Log } from '../core/ports/telemetry.ts';
import { MalformedMessage } from './codec/malformed-message.ts';
import type { ProcessingRequest } from './codec/processing-request.ts';
import type { ProcessingResponse } from './codec/processing-response.ts';
import { type Call, type CallListener, STATUS } from './grpc/call.ts';
import type { OpenSession, Session } from './session.ts';
import { FAULT_STATUS, StreamFault } from './stream-fault.ts';
import { toError } from '../lib/error/to-error.ts';

export type ProcessCall = Call<ProcessingResponse>;
export type ProcessListener = CallListener<ProcessingRequest | MalformedMessage>;

export interface DriveOptions {
  readonly call: ProcessCall;
  readonly open: OpenSession;
  readonly log: Log;
  /** Counts a stream that ended with an error, by the fault's kind. */
  readonly onFault: (kind: keyof typeof FAULT_STATUS) => void;
  /** The call is gone. */
  readonly onClosed: () => void;
}

/** Bytes written and not yet taken by the peer, above which nothing more is read from it. */
const HIGH_WATER = 256 * 1024;
const LOW_WATER = 64 * 1024;

/** Messages that may wait for an answer in the making. Reading goes on until then, so that the end is seen at once. */
const MAX_WAITING = 8;

/**
 * Joins one gRPC call to one session: one message at a time, back-pressure both ways, one error boundary, and an end that
 * comes exactly once. Gives who takes what comes on the call.
 */
export function driveStream(options: DriveOptions): ProcessListener {
  return new StreamDriver(options);
}

class StreamDriver implements ProcessListener {
  readonly #options: DriveOptions;
  #session: Session;
  readonly #waiting: ProcessingRequest[] = [];
  #busy = false;
  /** A session is in the middle of a message: `resume` would give it the next one there and then. */
  #receiving = false;
  #over = false;
  #closed = false;
  #paused = false;

  constructor(options: DriveOptions) {
    this.#options = options;
    this.#session = options.open({ send: this.#send, finish: this.#finish, guard: this.#guard });
  }

  onMessage(message: ProcessingRequest | MalformedMessage): void {
    if (this.#over) return;
    if (message instanceof MalformedMessage) {
      this.#fail(new StreamFault('invalid', `malformed message: ${message.message}`));
      return;
    }
    if (this.#busy) {
      this.#waiting.push(message);
      this.#balance();
      return;
    }
    this.#receive(message);
  }

  #receive(message: ProcessingRequest): void {
    this.#receiving = true;
    try {
      const done = this.#session.receive(message);
      if (isPromise(done)) {
        this.#busy = true;
        done.then(this.#next, this.#fail);
      }
    } catch (reason) {
      this.#fail(reason);
    }
    this.#receiving = false;
    if (this.#paused) this.#balance();
  }

  readonly #next = (): void => {
    this.#busy = false;
    while (!this.#busy && !this.#over) {
      const message = this.#waiting.shift();
      if (message === undefined) break;
      this.#receive(message);
    }
    this.#balance();
  };

  readonly #send = (response: ProcessingResponse): void => {
    if (this.#over) return;
    this.#options.call.write(response);
    this.#balance();
  };

  onDrain(): void {
    this.#balance();
  }

  /** Reads on or stops reading, by what waits on either side. */
  #balance(): void {
    const { call } = this.#options;
    if (this.#over) return;
    const unsent = call.unsent();
    if (this.#paused) {
      if (this.#receiving || unsent > LOW_WATER || this.#waiting.length > 0) return;
      this.#paused = false;
      call.resume();
    } else if (unsent > HIGH_WATER || this.#waiting.length >= MAX_WAITING) {
      this.#paused = true;
      call.pause();
    }
  }

  readonly #finish = (): void => {
    if (this.#over) return;
    this.#over = true;
    this.#options.call.end(STATUS.ok, '');
    this.#close();
  };

  /** Envoy has said all that it will. It never does so while it waits for an answer that it still wants. */
  onEnd(): void {
    if (this.#over) return;
    if (this.#busy || this.#session.owes()) {
      this.#fail(new StreamFault('aborted', 'the stream ended before its answer'));
      return;
    }
    this.#finish();
  }

  onClose(): void {
    this.#close();
    this.#options.onClosed();
  }

  readonly #guard = (step: () => void): void => {
    try {
      step();
    } catch (reason) {
      this.#fail(reason);
    }
  };

  /** The one way in which a stream ends badly. What goes out is a text of ours; the cause goes to the log. */
  readonly #fail = (reason: unknown): void => {
    if (this.#over) return;
    this.#over = true;
    const { call, log, onFault } = this.#options;
    const fault = asFault(reason);
    if (fault.kind === 'internal') {
      log.error('a stream failed', { error: toError(reason) });
    } else if (!ORDINARY.has(fault.kind)) log.warn('a stream was refused', { reason: fault.message });
    else log.debug('a stream ended early', { reason: fault.message });
    if (!ORDINARY.has(fault.kind)) onFault(fault.kind);
    call.end(FAULT_STATUS[fault.kind], fault.message);
    this.#close();
  };

  #close(): void {
    this.#over = true;
    this.#waiting.length = 0;
    if (this.#closed) return;
    this.#closed = true;
    const session = this.#session;
    // The engine keeps what native code has held until its next full collection: the request must not hang on it.
    this.#session = NO_SESSION;
    try {
      session.close();
    } catch (reason) {
      this.#options.log.error('a stream could not be closed', {
        error: toError(reason),
      });
    }
  }
}

const NO_SESSION: Session = { receive: () => {}, owes: () => false, close: () => {} };

/** A client that leaves early, or a try that comes too late, is no fault of anybody's. */
const ORDINARY: ReadonlySet<StreamFault['kind']> = new Set(['aborted', 'unavailable']);

function asFault(reason: unknown): StreamFault {
  if (reason instanceof StreamFault) return reason;
  if (reason instanceof MalformedMessage) return new StreamFault('invalid', `malformed message: ${reason.message}`);
  return new StreamFault('internal', 'internal error');
}
