import type { Socket } from 'node:net';
import { HpackDecoder } from '../../lib/hpack/hpack-decoder.ts';
import { HpackError } from '../../lib/hpack/hpack-error.ts';
import { checkFrame } from './check-frame.ts';
import { FloodGuard } from './flood-guard.ts';
import { FLAG, FRAME, H2_ERROR, type H2ErrorCode, MAX_WINDOW, MIN_FRAME_SIZE } from './frame.ts';
import { FrameReader } from './frame-reader.ts';
import { ConnectionError } from './h2-error.ts';
import { type HeaderBlock, HeaderBlocks } from './header-blocks.ts';
import {
  CONNECTION_WINDOW,
  FAREWELL_MS,
  GREETING_MS,
  IDLE_FRAMES,
  KEPT_BYTES,
  LEAST_UPDATE,
  LIST_BYTES,
  RESETS,
  STREAM_WINDOW,
  TABLE_BYTES,
} from './limits.ts';
import { Outlet } from './outlet.ts';
import { readSettings, SETTING } from './peer-settings.ts';
import { Pings } from './pings.ts';
import type { RequestHead } from './request-head.ts';
import type { H2Stream, StreamHandler } from './stream.ts';
import { StreamTable } from './stream-table.ts';
import { giveBack } from '../../lib/memory/give-back.ts';

export interface ConnectionOptions {
  /** Accepted, and with TLS through its handshake. */
  readonly socket: Socket;
  /** What the socket gives is for us alone: memory of its own, which nobody else uses afterwards. */
  readonly ownsReads?: boolean;
  /** Streams that the peer may have open at once. More are refused, which a peer may try again elsewhere. */
  readonly maxStreams: number;
  /** Milliseconds that only go forward. */
  readonly now: () => number;
  /** A request has begun. Gives who takes what follows. */
  readonly onRequest: (stream: H2Stream, head: RequestHead) => StreamHandler;
  /** A fault of ours, not of the peer's. */
  readonly onFault: (reason: unknown) => void;
  /** The connection is gone, and all of its streams are closed. */
  readonly onClose: () => void;
}

/** The server's side of one HTTP/2 connection: RFC 9113, as much of it as a gRPC server needs. */
export class H2Connection {
  readonly #options: ConnectionOptions;
  readonly #socket: Socket;
  readonly #outlet: Outlet;
  readonly #pings: Pings;
  readonly #reader: FrameReader;
  readonly #hpack = new HpackDecoder({ tableBytes: TABLE_BYTES, listBytes: LIST_BYTES });
  readonly #blocks = new HeaderBlocks();
  readonly #streams: StreamTable;
  readonly #idleFrames: FloodGuard;
  readonly #resets: FloodGuard;
  #receiveWindow = CONNECTION_WINDOW;
  #hasSettings = false;
  #isOver = false;
  #isGone = false;
  #timer: NodeJS.Timeout;

  constructor(options: ConnectionOptions) {
    const { socket, now, maxStreams } = options;
    this.#options = options;
    this.#socket = socket;
    this.#outlet = new Outlet(socket);
    this.#pings = new Pings(this.#outlet);
    this.#idleFrames = new FloodGuard({ ...IDLE_FRAMES, now });
    this.#resets = new FloodGuard({ ...RESETS, now });
    this.#streams = new StreamTable({
      outlet: this.#outlet,
      maxStreams,
      onRequest: options.onRequest,
      onEmpty: () => this.#leaveIfDone(),
    });
    this.#reader = new FrameReader(MIN_FRAME_SIZE, this.#onFrame);
    this.#timer = setTimeout(() => socket.destroy(), GREETING_MS).unref();
    socket.on('data', this.#onBytes);
    socket.on('error', () => {});
    socket.on('end', () => socket.destroy());
    socket.once('close', this.#onGone);
    this.#outlet.out.settings([
      [SETTING.maxConcurrentStreams, maxStreams],
      [SETTING.initialWindowSize, STREAM_WINDOW],
      [SETTING.maxHeaderListSize, LIST_BYTES],
    ]);
    this.#outlet.flushSoon();
  }

  /** Streams that are open. */
  get streams(): number {
    return this.#streams.size;
  }

  /** Serves what is open or under way, and asks the peer to open no more. The connection ends with its last stream. */
  drain(): void {
    if (!this.#isOver) this.#pings.drain();
  }

  /** Is the peer still there? One that has not answered the last question is cut. */
  askAlive(): void {
    if (!this.#reader.isGreeted || this.#isOver) return;
    if (!this.#pings.isWaiting) this.#pings.ask();
    // When it is we who stood still, the answer lies in the socket and is read before that.
    else setImmediate(() => this.#pings.isWaiting && this.#socket.destroy());
  }

  /** Cuts the connection and all of its streams at once. */
  destroy(): void {
    this.#socket.destroy();
    this.#onGone();
  }

  readonly #onBytes = (chunk: Buffer): void => {
    if (this.#isOver) return;
    try {
      this.#reader.push(chunk);
    } catch (reason) {
      if (reason instanceof ConnectionError) this.#fail(reason.code, reason.message);
      else if (reason instanceof HpackError) this.#fail(H2_ERROR.compression, reason.message);
      else {
        this.#options.onFault(reason);
        this.#fail(H2_ERROR.internal, 'internal error');
      }
    }
    if (this.#options.ownsReads === true && chunk.length > KEPT_BYTES) giveBack(chunk);
  };

  readonly #onFrame = (
    type: number,
    flags: number,
    stream: number,
    bytes: Buffer,
    start: number,
    end: number,
  ): void => {
    checkFrame(type, flags, stream, end - start);
    if (!this.#hasSettings) this.#begin(type, flags);
    if (this.#blocks.isOpen !== (type === FRAME.continuation)) broken('a header block is not in one piece');
    switch (type) {
      case FRAME.data:
        this.#onData(flags, stream, bytes, start, end);
        return;
      case FRAME.headers:
        this.#onBlock(this.#blocks.begin(stream, flags, bytes, start, end));
        return;
      case FRAME.continuation:
        this.#onBlock(this.#blocks.go(stream, flags, bytes, start, end));
        return;
      case FRAME.reset:
        this.#onReset(stream);
        return;
      case FRAME.windowUpdate:
        this.#onWindowUpdate(stream, bytes.readUInt32BE(start) & MAX_WINDOW);
        return;
      case FRAME.settings:
        this.#countIdle();
        if ((flags & FLAG.ack) === 0) this.#onSettings(bytes, start, end);
        return;
      case FRAME.ping:
        this.#countIdle();
        this.#onPing(flags, bytes.subarray(start, end));
        return;
      case FRAME.goaway:
        this.drain();
        return;
      default:
        this.#countIdle();
    }
  };

  #begin(type: number, flags: number): void {
    if (type !== FRAME.settings || (flags & FLAG.ack) !== 0) broken('the first frame must be SETTINGS');
    this.#hasSettings = true;
    clearTimeout(this.#timer);
  }

  #onData(flags: number, id: number, bytes: Buffer, from: number, to: number): void {
    const stream = this.#streams.find(id);
    const flow = to - from;
    this.#receiveWindow -= flow;
    if (this.#receiveWindow < 0)
      throw new ConnectionError(H2_ERROR.flowControl, 'more DATA than the window has room for');
    if (this.#receiveWindow < CONNECTION_WINDOW / 2) {
      this.#outlet.out.windowUpdate(0, CONNECTION_WINDOW - this.#receiveWindow);
      this.#receiveWindow = CONNECTION_WINDOW;
      this.#outlet.flushSoon();
    }
    let start = from;
    let end = to;
    if ((flags & FLAG.padded) !== 0) {
      end -= start < end ? (bytes[start] ?? 0) : 1;
      start += 1;
      if (start > end) broken('DATA shorter than its padding');
    }
    const isEnd = (flags & FLAG.endStream) !== 0;
    if (stream === undefined || (start === end && !isEnd)) this.#countIdle();
    stream?.receiveData(bytes, start, end, flow);
    if (isEnd) stream?.receiveEnd();
  }

  #onBlock(block: HeaderBlock | null): void {
    if (block === null) return;
    const { stream, isEnd, bytes, start, end } = block;
    const isNew = this.#streams.begins(stream);
    const list = this.#hpack.decode(bytes, start, end);
    if (isNew) this.#streams.begin(stream, list, isEnd);
    else if (!this.#streams.trail(stream, list, isEnd)) this.#countIdle();
  }

  #onReset(id: number): void {
    const stream = this.#streams.find(id);
    if (!this.#resets.take()) throw new ConnectionError(H2_ERROR.calm, 'too many resets');
    stream?.close();
  }

  #onWindowUpdate(id: number, increment: number): void {
    const outlet = this.#outlet;
    if (id === 0) {
      if (increment === 0) broken('WINDOW_UPDATE of nothing');
      outlet.sendWindow += increment;
      if (outlet.sendWindow > MAX_WINDOW) throw new ConnectionError(H2_ERROR.flowControl, 'the window is too large');
      if (increment < LEAST_UPDATE) this.#countIdle();
      outlet.pumpAll();
      return;
    }
    const stream = this.#streams.find(id);
    if (increment < LEAST_UPDATE) this.#countIdle();
    if (increment === 0) stream?.reset(H2_ERROR.protocol);
    else if (stream?.widen(increment) === false) stream.reset(H2_ERROR.flowControl);
  }

  #onSettings(bytes: Buffer, start: number, end: number): void {
    const outlet = this.#outlet;
    const before = outlet.peer;
    outlet.peer = readSettings(before, bytes, start, end);
    this.#outlet.out.settingsAck();
    this.#outlet.flushSoon();
    const change = outlet.peer.initialWindow - before.initialWindow;
    if (change !== 0) this.#streams.widenAll(change);
  }

  #onPing(flags: number, payload: Buffer): void {
    if ((flags & FLAG.ack) === 0) {
      this.#outlet.out.ping(payload, true);
      this.#outlet.flushSoon();
      return;
    }
    if (!this.#pings.answered(payload)) return;
    this.#streams.seal();
    this.#outlet.out.goaway(this.#streams.last, H2_ERROR.none, 'draining');
    this.#outlet.flushSoon();
    this.#leaveIfDone();
  }

  #countIdle(): void {
    if (!this.#idleFrames.take()) throw new ConnectionError(H2_ERROR.calm, 'too many frames that bring nothing');
  }

  #leaveIfDone(): void {
    if (this.#streams.size === 0 && this.#streams.isSealed && !this.#isOver) this.#leave();
  }

  #fail(code: H2ErrorCode, message: string): void {
    if (this.#isOver) return;
    this.#outlet.out.goaway(this.#streams.last, code, message);
    this.#leave();
  }

  /** Our last words, and the end of what is open. */
  #leave(): void {
    this.#isOver = true;
    this.#reader.stop();
    this.#outlet.end();
    this.#timer = setTimeout(() => this.#socket.destroy(), FAREWELL_MS).unref();
    this.#streams.closeAll();
  }

  readonly #onGone = (): void => {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#isOver = true;
    this.#reader.stop();
    this.#outlet.stop();
    clearTimeout(this.#timer);
    this.#streams.closeAll();
    this.#options.onClose();
  };
}

function broken(message: string): never {
  throw new ConnectionError(H2_ERROR.protocol, message);
}
