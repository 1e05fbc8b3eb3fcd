import type { RequestHead } from '../h2/request-head.ts';
import type { H2Stream, StreamHandler } from '../h2/stream.ts';
import type { AnyMethod, Call, CallListener } from './call.ts';
import { STATUS } from './call.ts';
import { parseGrpcTimeout } from './grpc-timeout.ts';
import { MessageReader, type ReadFault } from './message-reader.ts';
import type { Unfinished } from './unfinished.ts';
import { httpReply, REPLY_HEAD, replyEnd } from './reply-heads.ts';

export interface GrpcCallOptions {
  readonly stream: H2Stream;
  readonly head: RequestHead;
  readonly methods: ReadonlyMap<string, AnyMethod>;
  readonly messageBytes: number;
  /** Bounds messages that are not whole; null: nothing but their size does. */
  readonly unfinished: Unfinished | null;
  /** A service of ours has thrown. */
  readonly onFault: (reason: unknown) => void;
}

/** Written anew for each message, and copied before the next. */
const PREFIX = Buffer.alloc(5);

const NO_BYTES = Buffer.alloc(0);

const NOBODY: CallListener<unknown> = { onMessage: () => {}, onEnd: () => {}, onDrain: () => {}, onClose: () => {} };

/** One gRPC call on one stream. */
export class GrpcCall implements StreamHandler, Call<unknown> {
  readonly #stream: H2Stream;
  readonly #head: RequestHead;
  readonly #reader: MessageReader;
  readonly #onFault: (reason: unknown) => void;
  #method: AnyMethod | null = null;
  #listener: CallListener<unknown> = NOBODY;
  #hasReplied = false;
  /** A status went out, or the peer is gone. */
  #isOver = false;
  #isPaused = false;
  #isReading = false;
  #hasEnded = false;
  /** What came while the call was paused. The peer's window bounds it. */
  #backlog: Buffer[] = [];
  #deadline: NodeJS.Timeout | undefined;
  readonly #unfinished: Unfinished | null;
  /** What of `#unfinished` is this call's, and until when its message must be whole. */
  #held = 0;
  #patience: NodeJS.Timeout | undefined;

  constructor({ stream, head, methods, messageBytes, unfinished, onFault }: GrpcCallOptions) {
    this.#stream = stream;
    this.#head = head;
    this.#reader = new MessageReader(messageBytes, unfinished === null);
    this.#unfinished = unfinished;
    this.#onFault = onFault;
    stream.handler = this;
    this.#begin(methods);
  }

  metadata(name: string): string {
    return this.#head.field(name);
  }

  unsent(): number {
    return this.#stream.queued;
  }

  write(message: unknown): void {
    const method = this.#method;
    if (this.#isOver || method === null) return;
    if (!this.#hasReplied) {
      this.#hasReplied = true;
      this.#stream.sendHeaders(REPLY_HEAD);
    }
    const encoded = method.encode(message);
    const [first = NO_BYTES, ...more] = Buffer.isBuffer(encoded) ? [encoded] : encoded;
    PREFIX.writeUInt32BE(
      more.reduce((sum, { length }) => sum + length, first.length),
      1,
    );
    this.#stream.sendData(PREFIX, first);
    for (const piece of more) this.#stream.sendData(NO_BYTES, piece);
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#readBacklog();
  }

  end(code: number, details: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#backlog = [];
    clearTimeout(this.#deadline);
    this.#letGo();
    this.#stream.sendTrailers(replyEnd(code, details, !this.#hasReplied));
  }

  onData(bytes: Buffer, start: number, end: number): void {
    if (this.#isPaused || this.#isReading) {
      this.#backlog.push(Buffer.from(bytes.subarray(start, end)));
      return;
    }
    this.#read(bytes, start, end);
  }

  onEnd(): void {
    this.#hasEnded = true;
    if (!this.#isPaused && !this.#isReading) this.#tellEnd();
  }

  onDrain(): void {
    try {
      this.#listener.onDrain();
    } catch (reason) {
      this.#crash(reason);
    }
  }

  onClose(): void {
    this.#isOver = true;
    this.#backlog = [];
    clearTimeout(this.#deadline);
    this.#letGo();
    this.#closeListener();
  }

  #begin(methods: ReadonlyMap<string, AnyMethod>): void {
    const { method: verb, path } = this.#head;
    if (verb !== 'POST' || !isGrpc(this.#head.field('content-type'))) {
      this.#isOver = true;
      this.#stream.sendTrailers(httpReply(verb === 'POST' ? 415 : 405));
      return;
    }
    const method = methods.get(path);
    const timeout = parseGrpcTimeout(this.#head.field('grpc-timeout'));
    if (method === undefined) this.end(STATUS.unimplemented, 'unknown method');
    else if (Number.isNaN(timeout)) this.end(STATUS.internal, 'grpc-timeout is none');
    else {
      this.#method = method;
      if (timeout !== null) this.#deadline = setTimeout(this.#expire, timeout);
      this.#serve(method);
    }
  }

  #serve(method: AnyMethod): void {
    try {
      this.#listener = method.serve(this);
    } catch (reason) {
      this.#crash(reason);
    }
    if (this.#stream.isClosed) this.#closeListener();
  }

  readonly #expire = (): void => {
    this.#fail({ code: STATUS.deadlineExceeded, details: 'deadline exceeded' });
  };

  #read(bytes: Buffer, start: number, end: number): void {
    const reader = this.#reader;
    const method = this.#method;
    if (method === null) return;
    this.#isReading = true;
    let at = start;
    try {
      while (at < end && !this.#isPaused && !this.#isOver) {
        at = reader.read(bytes, at, end);
        if (reader.fault !== null) this.#fail(reader.fault);
        else if (reader.message !== null) {
          if (this.#patience !== undefined) this.#letGo();
          this.#listener.onMessage(method.decode(reader.message));
        }
      }
    } catch (reason) {
      this.#crash(reason);
    }
    this.#isReading = false;
    if (this.#unfinished !== null && !this.#isOver) this.#account(this.#unfinished);
    if (this.#isOver) this.#stream.credit(end - start);
    else {
      this.#stream.credit(at - start);
      if (at < end) this.#backlog.unshift(Buffer.from(bytes.subarray(at, end)));
    }
  }

  /** A message that is not whole counts, and its time runs from when it began to. */
  #account(unfinished: Unfinished): void {
    const { heldBytes, isCut } = this.#reader;
    if (!unfinished.take(heldBytes - this.#held)) {
      this.#fail({ code: STATUS.resourceExhausted, details: 'too many messages are not whole' });
      return;
    }
    this.#held = heldBytes;
    if (!isCut) return;
    this.#patience ??= setTimeout(() => {
      this.#fail({ code: STATUS.deadlineExceeded, details: 'a message was not whole in time' });
    }, unfinished.ms);
  }

  #letGo(): void {
    clearTimeout(this.#patience);
    this.#patience = undefined;
    this.#unfinished?.take(-this.#held);
    this.#held = 0;
  }

  #readBacklog(): void {
    while (!this.#isPaused && !this.#isReading && this.#backlog.length > 0) {
      const piece = this.#backlog.shift();
      if (piece !== undefined) this.#read(piece, 0, piece.length);
    }
    if (!this.#isPaused && !this.#isReading && this.#hasEnded) this.#tellEnd();
  }

  #tellEnd(): void {
    if (this.#isOver) return;
    this.#hasEnded = false;
    if (this.#reader.isCut) this.#fail({ code: STATUS.internal, details: 'the last message is cut' });
    else {
      try {
        this.#listener.onEnd();
      } catch (reason) {
        this.#crash(reason);
      }
    }
  }

  /** A service has thrown: that costs its call, and no other one. */
  #crash(reason: unknown): void {
    this.#onFault(reason);
    this.#fail({ code: STATUS.internal, details: 'internal error' });
  }

  /** The call ends without its listener's doing. Its status may have to wait for the peer; the listener need not. */
  #fail({ code, details }: ReadFault): void {
    this.end(code, details);
    this.#closeListener();
  }

  #closeListener(): void {
    const listener = this.#listener;
    this.#listener = NOBODY;
    try {
      listener.onClose();
    } catch (reason) {
      this.#onFault(reason);
    }
  }
}

function isGrpc(contentType: string): boolean {
  return contentType === 'application/grpc' || /^application\/grpc(?:[+;]|$)/.test(contentType);
}
