import { FLAG, FRAME, H2_ERROR, type H2ErrorCode, MAX_WINDOW } from './frame.ts';
import { STREAM_WINDOW } from './limits.ts';
import type { Outlet } from './outlet.ts';

/** Who takes what comes on a stream. `onClose` comes once, and nothing after it. */
export interface StreamHandler {
  /**
   * A piece of the body between `start` and `end`, to be answered by `credit`, sooner or later. It may be kept only where all of `bytes`
   * is at most `KEPT_BYTES`.
   */
  onData(bytes: Buffer, start: number, end: number): void;
  /** The peer has sent all that it will. */
  onEnd(): void;
  /** Some of the bytes that waited have left. */
  onDrain(): void;
  onClose(): void;
}

/** The most that one stream may write while others wait for their turn. */
const TURN_BYTES = 64 * 1024;

const NO_BYTES = Buffer.alloc(0);

export interface H2StreamOptions {
  readonly outlet: Outlet;
  readonly id: number;
  /** Bytes of body that `content-length` promises; null without such a promise. */
  readonly contentLength: number | null;
  readonly onClosed: (stream: H2Stream) => void;
}

/** One stream of a connection: both windows, what waits to be sent, and how it ends. */
export class H2Stream {
  readonly id: number;
  handler: StreamHandler | null = null;
  /** The peer may send nothing more. */
  isRemoteClosed = false;
  readonly #outlet: Outlet;
  readonly #onClosed: (stream: H2Stream) => void;
  #isClosed = false;
  #sendWindow: number;
  #receiveWindow = STREAM_WINDOW;
  #uncredited = 0;
  #queue: Buffer[] = [];
  #queued = 0;
  #trailers: Buffer | null = null;
  /** Bytes of body that `content-length` promised and that are not here yet; null without such a promise. */
  #promised: number | null;

  constructor({ outlet, id, contentLength, onClosed }: H2StreamOptions) {
    this.#outlet = outlet;
    this.id = id;
    this.#sendWindow = outlet.peer.initialWindow;
    this.#promised = contentLength;
    this.#onClosed = onClosed;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Bytes that wait for a window or for the socket. */
  get queued(): number {
    return this.#queued;
  }

  /** A header block that does not end the stream; before any data. */
  sendHeaders(block: Buffer): void {
    if (!this.#isClosed) this.#writeBlock(block, FLAG.endHeaders);
  }

  /** `prefix` is copied, `body` is not changed any more by the caller. */
  sendData(prefix: Buffer, body: Buffer): void {
    if (this.#isClosed || this.#trailers !== null) return;
    const outlet = this.#outlet;
    const size = prefix.length + body.length;
    const room = Math.min(this.#sendWindow, outlet.sendWindow, outlet.peer.maxFrame);
    if (this.#queued === 0 && size <= room && !outlet.isCongested) {
      this.#spend(size);
      outlet.out.data(this.id, prefix, body, outlet.peer.maxFrame);
      outlet.flushSoon();
      return;
    }
    if (prefix.length > 0) this.#queue.push(Buffer.from(prefix));
    this.#queue.push(body);
    this.#queued += size;
    this.#wait();
  }

  /** Ends the stream by a header block, behind all that waits. */
  sendTrailers(block: Buffer): void {
    if (this.#isClosed || this.#trailers !== null) return;
    this.#trailers = block;
    if (this.#queued === 0) this.#finish(block);
  }

  /** Sends what may leave, at most one turn's worth. Waits on when it is the connection that has no room for more. */
  pump(): void {
    if (this.#isClosed) return;
    const outlet = this.#outlet;
    const before = this.#queued;
    let turn = TURN_BYTES;
    while (this.#queued > 0 && turn > 0 && !outlet.isCongested) {
      const size = Math.min(this.#queued, turn, this.#sendWindow, outlet.sendWindow, outlet.peer.maxFrame);
      if (size <= 0) break;
      this.#spend(size);
      turn -= size;
      this.#writeQueued(size);
    }
    if (this.#queued > 0 && this.#sendWindow > 0) outlet.block(this);
    if (this.#queued === before) return;
    outlet.flushSoon();
    if (this.#queued === 0 && this.#trailers !== null) this.#finish(this.#trailers);
    else this.handler?.onDrain();
  }

  /** A frame of DATA with `flow` bytes, padding included. What breaks the rules resets the stream. */
  receiveData(bytes: Buffer, start: number, end: number, flow: number): void {
    const length = end - start;
    this.#receiveWindow -= flow;
    if (this.#promised !== null) this.#promised -= length;
    if (this.isRemoteClosed) this.reset(H2_ERROR.streamClosed);
    else if (this.#receiveWindow < 0) this.reset(H2_ERROR.flowControl);
    else if (this.#promised !== null && this.#promised < 0) this.reset(H2_ERROR.protocol);
    else {
      if (flow > length) this.credit(flow - length);
      if (length > 0) this.handler?.onData(bytes, start, end);
    }
  }

  /** The peer's END_STREAM. */
  receiveEnd(): void {
    if (this.#isClosed) return;
    if (this.isRemoteClosed) this.reset(H2_ERROR.streamClosed);
    else if (this.#promised !== null && this.#promised !== 0) this.reset(H2_ERROR.protocol);
    else {
      this.isRemoteClosed = true;
      this.handler?.onEnd();
    }
  }

  /** The peer may send as many bytes again. */
  credit(bytes: number): void {
    if (this.isRemoteClosed || this.#isClosed) return;
    this.#uncredited += bytes;
    if (this.#uncredited < STREAM_WINDOW / 2) return;
    this.#outlet.out.windowUpdate(this.id, this.#uncredited);
    this.#receiveWindow += this.#uncredited;
    this.#uncredited = 0;
    this.#outlet.flushSoon();
  }

  /** The peer's WINDOW_UPDATE, or its new initial window. False when the window would be too large. */
  widen(bytes: number): boolean {
    this.#sendWindow += bytes;
    if (this.#sendWindow > MAX_WINDOW) return false;
    if (this.#queued > 0) this.#wait();
    return true;
  }

  reset(code: H2ErrorCode): void {
    if (this.#isClosed) return;
    this.#outlet.out.reset(this.id, code);
    this.#outlet.flushSoon();
    this.close();
  }

  /** It is over: nothing more is sent or taken. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#queue = [];
    this.#queued = 0;
    this.#outlet.unblock(this);
    this.#onClosed(this);
    const { handler } = this;
    this.handler = null;
    handler?.onClose();
  }

  /** Takes its turn among those that wait; not while its own window is shut: that opens by `widen` alone. */
  #wait(): void {
    if (this.#sendWindow <= 0) return;
    this.#outlet.block(this);
    this.#outlet.pumpAll();
  }

  #finish(block: Buffer): void {
    this.#writeBlock(block, FLAG.endHeaders | FLAG.endStream);
    // The answer is whole. What the peer still wants to say is not for us: RFC 9113, section 8.1.
    if (this.isRemoteClosed) this.close();
    else this.reset(H2_ERROR.none);
  }

  #writeBlock(block: Buffer, flags: number): void {
    const { out } = this.#outlet;
    out.head(block.length, FRAME.headers, flags, this.id);
    out.bytes(block);
    this.#outlet.flushSoon();
  }

  #writeQueued(size: number): void {
    this.#queued -= size;
    this.#outlet.out.head(size, FRAME.data, 0, this.id);
    for (let left = size; left > 0;) {
      const first = this.#queue[0] ?? NO_BYTES;
      if (first.length <= left) {
        this.#queue.shift();
        this.#outlet.out.bytes(first);
        left -= first.length;
      } else {
        this.#outlet.out.bytes(first.subarray(0, left));
        this.#queue[0] = first.subarray(left);
        left = 0;
      }
    }
  }

  #spend(bytes: number): void {
    this.#sendWindow -= bytes;
    this.#outlet.sendWindow -= bytes;
  }
}
