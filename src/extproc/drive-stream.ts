import type { ServerDuplexStream } from '@grpc/grpc-js';
import { isPromise } from '../core/maybe-promise.ts';
import type { Log } from '../core/ports/telemetry.ts';
import { MalformedMessage } from './codec/malformed-message.ts';
import type { ProcessingRequest } from './codec/processing-request.ts';
import type { ProcessingResponse } from './codec/processing-response.ts';
import type { OpenSession, Session } from './session.ts';
import { FAULT_STATUS, StreamFault } from './stream-fault.ts';

export type ProcessCall = ServerDuplexStream<ProcessingRequest | MalformedMessage, ProcessingResponse>;

export interface DriveOptions {
  readonly call: ProcessCall;
  readonly open: OpenSession;
  readonly log: Log;
  /** Counts a stream that ended with an error, by the fault's kind. */
  readonly onFault: (kind: keyof typeof FAULT_STATUS) => void;
}

/** Bytes written and not yet taken by the peer, above which nothing more is read from it. */
const HIGH_WATER = 256 * 1024;
const LOW_WATER = 64 * 1024;

/** Messages that may wait for an answer in the making. Reading goes on until then, so that the end is seen at once. */
const MAX_WAITING = 8;

/** What a message weighs beside its body. */
const MESSAGE_OVERHEAD = 256;

/**
 * Joins one gRPC call to one session: one message at a time, back-pressure both ways, one error boundary, and an end that
 * comes exactly once. grpc-js says `cancelled` on every call that closes, clean ones too.
 */
export function driveStream(options: DriveOptions): void {
  new StreamDriver(options).start();
}

class StreamDriver {
  readonly #options: DriveOptions;
  #session: Session;
  readonly #waiting: ProcessingRequest[] = [];
  #busy = false;
  #over = false;
  #closed = false;
  #unsent = 0;
  #paused = false;

  constructor(options: DriveOptions) {
    this.#options = options;
    this.#session = options.open({ send: this.#send, finish: this.#finish, guard: this.#guard });
  }

  start(): void {
    const { call } = this.#options;
    call.on('data', this.#onMessage);
    call.on('end', this.#onEnd);
    call.on('cancelled', this.#close);
    call.on('error', this.#close);
    call.on('close', this.#close);
    call.on('drain', this.#balance);
  }

  readonly #onMessage = (message: ProcessingRequest | MalformedMessage): void => {
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
  };

  #receive(message: ProcessingRequest): void {
    this.#guard(() => {
      const done = this.#session.receive(message);
      if (!isPromise(done)) return;
      this.#busy = true;
      done.then(this.#next, this.#fail);
    });
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
    const size = MESSAGE_OVERHEAD + bodyBytes(response);
    this.#unsent += size;
    this.#options.call.write(response, () => {
      this.#unsent -= size;
      this.#balance();
    });
    this.#balance();
  };

  /** Reads on or stops reading, by what waits on either side. */
  readonly #balance = (): void => {
    const { call } = this.#options;
    if (this.#over) return;
    if (this.#paused) {
      if (this.#unsent > LOW_WATER || call.writableNeedDrain || this.#waiting.length > 0) return;
      this.#paused = false;
      call.resume();
    } else if (this.#unsent > HIGH_WATER || call.writableNeedDrain || this.#waiting.length >= MAX_WAITING) {
      this.#paused = true;
      call.pause();
    }
  };

  readonly #finish = (): void => {
    if (this.#over) return;
    this.#over = true;
    this.#options.call.end();
    this.#drainRest();
    this.#close();
  };

  /** Envoy has said all that it will. It never does so while it waits for an answer that it still wants. */
  readonly #onEnd = (): void => {
    if (this.#over) return;
    if (this.#busy || this.#session.owes()) {
      this.#fail(new StreamFault('aborted', 'the stream ended before its answer'));
      return;
    }
    this.#finish();
  };

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
      log.error('a stream failed', { error: reason instanceof Error ? reason : new Error(String(reason)) });
    } else if (!ORDINARY.has(fault.kind)) log.warn('a stream was refused', { reason: fault.message });
    else log.debug('a stream ended early', { reason: fault.message });
    if (!ORDINARY.has(fault.kind)) onFault(fault.kind);
    call.emit('error', { code: FAULT_STATUS[fault.kind], details: fault.message });
    this.#drainRest();
    this.#close();
  };

  /** What still comes is read and dropped: an unread message would keep the call open. */
  #drainRest(): void {
    this.#waiting.length = 0;
    this.#options.call.resume();
  }

  readonly #close = (): void => {
    this.#over = true;
    if (this.#closed) return;
    this.#closed = true;
    const session = this.#session;
    // The engine keeps what native code has held until its next full collection: the request must not hang on it.
    this.#session = NO_SESSION;
    try {
      session.close();
    } catch (reason) {
      this.#options.log.error('a stream could not be closed', {
        error: reason instanceof Error ? reason : new Error(String(reason)),
      });
    }
  };
}

const NO_SESSION: Session = { receive: () => {}, owes: () => false, close: () => {} };

/** A client that leaves early, or a try that comes too late, is no fault of anybody's. */
const ORDINARY: ReadonlySet<StreamFault['kind']> = new Set(['aborted', 'unavailable']);

function asFault(reason: unknown): StreamFault {
  if (reason instanceof StreamFault) return reason;
  if (reason instanceof MalformedMessage) return new StreamFault('invalid', `malformed message: ${reason.message}`);
  return new StreamFault('internal', 'internal error');
}

function bodyBytes(response: ProcessingResponse): number {
  if (response.kind === 'immediate_response') return response.response.body.length;
  return 'change' in response ? (response.change.body?.bytes.length ?? 0) : 0;
}
