import { FLAG, FRAME, FRAME_HEAD } from './frame.ts';

const SLAB_BYTES = 64 * 1024;

/** A payload above this goes out as it is; one below is copied, so that small frames leave in one piece. */
const COPY_BYTES = 4096;

/** Frames that wait to be written, as few pieces of memory as possible. */
export class OutBuffer {
  #slab = Buffer.alloc(0);
  /** Where in the slab what is not yet taken begins, and where it ends. */
  #start = 0;
  #at = 0;
  #pieces: Buffer[] = [];
  #size = 0;
  /** The frame of DATA that was begun last: its stream, where its head is in the slab, and its length. */
  #dataStream = 0;
  #dataAt = 0;
  #dataLength = 0;
  /** Where its payload ends, as long as nothing else was written behind it. */
  #dataEnd = -1;

  /** Bytes that wait. */
  get size(): number {
    return this.#size;
  }

  /** The head of a frame whose payload of `length` bytes is written next. */
  head(length: number, type: number, flags: number, stream: number): void {
    this.#reserve(FRAME_HEAD);
    const slab = this.#slab;
    let at = this.#at;
    slab[at++] = length >>> 16;
    slab[at++] = length >>> 8;
    slab[at++] = length;
    slab[at++] = type;
    slab[at++] = flags;
    this.#at = at;
    this.#size += 5;
    this.uint32(stream);
  }

  uint8(value: number): void {
    this.#reserve(1);
    this.#slab[this.#at++] = value;
    this.#size += 1;
  }

  uint32(value: number): void {
    this.#reserve(4);
    const slab = this.#slab;
    let at = this.#at;
    slab[at++] = value >>> 24;
    slab[at++] = value >>> 16;
    slab[at++] = value >>> 8;
    slab[at++] = value;
    this.#at = at;
    this.#size += 4;
  }

  /**
   * DATA of one stream, at most `maxFrame` bytes. What comes right behind other DATA of the same stream becomes a part of that frame.
   * `prefix` is copied, `body` is not changed any more by the caller.
   */
  data(stream: number, prefix: Buffer, body: Buffer, maxFrame: number): void {
    const length = prefix.length + body.length;
    const whole = this.#dataLength + length;
    if (this.#dataEnd === this.#at && this.#dataStream === stream && whole <= maxFrame && this.#fits(length)) {
      this.#setLength(this.#dataAt, whole);
      this.#dataLength = whole;
    } else {
      this.#reserve(FRAME_HEAD + (length <= COPY_BYTES ? length : 0));
      this.#dataStream = stream;
      this.#dataAt = this.#at;
      this.#dataLength = length;
      this.head(length, FRAME.data, 0, stream);
    }
    this.bytes(prefix);
    this.bytes(body);
    this.#dataEnd = body.length <= COPY_BYTES ? this.#at : -1;
  }

  #setLength(at: number, length: number): void {
    this.#slab[at] = length >>> 16;
    this.#slab[at + 1] = length >>> 8;
    this.#slab[at + 2] = length;
  }

  /** Does it go into the slab behind what is there? */
  #fits(length: number): boolean {
    return length <= COPY_BYTES && this.#slab.length - this.#at >= length;
  }

  /** Bytes that the caller will not change any more. */
  bytes(bytes: Buffer): void {
    const { length } = bytes;
    this.#size += length;
    if (length > COPY_BYTES) {
      this.#cut();
      this.#pieces.push(bytes);
      return;
    }
    this.#reserve(length);
    this.#slab.set(bytes, this.#at);
    this.#at += length;
  }

  settings(entries: readonly (readonly [id: number, value: number])[]): void {
    this.head(entries.length * 6, FRAME.settings, 0, 0);
    for (const [id, value] of entries) {
      this.uint8(id >>> 8);
      this.uint8(id);
      this.uint32(value);
    }
  }

  settingsAck(): void {
    this.head(0, FRAME.settings, FLAG.ack, 0);
  }

  ping(payload: Buffer, isAck: boolean): void {
    this.head(8, FRAME.ping, isAck ? FLAG.ack : 0, 0);
    this.bytes(payload);
  }

  reset(stream: number, code: number): void {
    this.head(4, FRAME.reset, 0, stream);
    this.uint32(code);
  }

  windowUpdate(stream: number, increment: number): void {
    this.head(4, FRAME.windowUpdate, 0, stream);
    this.uint32(increment);
  }

  goaway(lastStream: number, code: number, text: string): void {
    const debug = Buffer.from(text);
    this.head(8 + debug.length, FRAME.goaway, 0, 0);
    this.uint32(lastStream);
    this.uint32(code);
    this.bytes(debug);
  }

  /** Everything that waits, in its order. */
  take(): readonly Buffer[] {
    this.#cut();
    this.#dataEnd = -1;
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#size = 0;
    return pieces;
  }

  #cut(): void {
    if (this.#at === this.#start) return;
    this.#pieces.push(this.#slab.subarray(this.#start, this.#at));
    this.#start = this.#at;
  }

  #reserve(length: number): void {
    if (this.#slab.length - this.#at >= length) return;
    this.#cut();
    this.#dataEnd = -1;
    this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
    this.#start = 0;
    this.#at = 0;
  }
}
