import { FLAG, FRAME, FRAME_HEAD, H2_ERROR, PREFACE } from './frame.ts';
import { ConnectionError } from './h2-error.ts';

/**
 * Takes one frame, or of DATA without padding a part of one, of which the last alone has the flag of the end. Its payload lies between
 * `start` and `end`.
 */
export type OnFrame = (type: number, flags: number, stream: number, bytes: Buffer, start: number, end: number) => void;

/** Cuts what a client sends, behind its preface, into frames. DATA is not copied, nor is a frame that lies whole in one read. */
export class FrameReader {
  readonly #maxLength: number;
  readonly #onFrame: OnFrame;
  #preface = 0;
  readonly #head = Buffer.alloc(FRAME_HEAD);
  /** The frame of which a part is here; its head alone while the head is not whole. */
  #held: Buffer = this.#head;
  #filled = 0;
  /** Bytes of DATA that are still to come, of which frame. */
  #dataLeft = 0;
  #dataFlags = 0;
  #dataStream = 0;
  #stopped = false;

  /** `maxLength`: SETTINGS_MAX_FRAME_SIZE as we announce it. */
  constructor(maxLength: number, onFrame: OnFrame) {
    this.#maxLength = maxLength;
    this.#onFrame = onFrame;
  }

  /** The client has proved that it speaks HTTP/2. */
  get isGreeted(): boolean {
    return this.#preface === PREFACE.length;
  }

  /** Nothing more is given out. */
  stop(): void {
    this.#stopped = true;
  }

  /** Gives out every frame that is whole now. Throws `ConnectionError`, and what `onFrame` throws. */
  push(chunk: Buffer): void {
    let at = this.isGreeted ? 0 : this.#greet(chunk);
    if (this.#dataLeft > 0) at = this.#giveData(chunk, at);
    else if (this.#filled > 0) at = this.#fill(chunk, at);
    while (!this.#stopped && chunk.length - at >= FRAME_HEAD) {
      const end = at + FRAME_HEAD + this.#lengthAt(chunk, at);
      if (end > chunk.length) break;
      this.#give(chunk, at, end);
      at = end;
    }
    if (this.#stopped || at === chunk.length) return;
    if (chunk.length - at >= FRAME_HEAD && chunk[at + 3] === FRAME.data && ((chunk[at + 4] ?? 0) & FLAG.padded) === 0)
      this.#beginData(chunk, at);
    else this.#hold(chunk, at);
  }

  #greet(chunk: Buffer): number {
    const count = Math.min(PREFACE.length - this.#preface, chunk.length);
    for (let at = 0; at < count; at++) {
      if (chunk[at] !== PREFACE[this.#preface + at]) throw new ConnectionError(H2_ERROR.protocol, 'this is no HTTP/2');
    }
    this.#preface += count;
    return count;
  }

  #lengthAt(bytes: Buffer, at: number): number {
    const length = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    if (length > this.#maxLength) throw new ConnectionError(H2_ERROR.frameSize, `a frame of ${length} bytes`);
    return length;
  }

  #give(bytes: Buffer, at: number, end: number): void {
    this.#onFrame(bytes[at + 3] ?? 0, bytes[at + 4] ?? 0, streamAt(bytes, at), bytes, at + FRAME_HEAD, end);
  }

  #beginData(chunk: Buffer, at: number): void {
    this.#dataLeft = this.#lengthAt(chunk, at);
    this.#dataFlags = chunk[at + 4] ?? 0;
    this.#dataStream = streamAt(chunk, at);
    if (at + FRAME_HEAD < chunk.length) this.#giveData(chunk, at + FRAME_HEAD);
  }

  /** Gives out what is here of the DATA; gives where in the chunk that ended. */
  #giveData(chunk: Buffer, at: number): number {
    const end = Math.min(at + this.#dataLeft, chunk.length);
    this.#dataLeft -= end - at;
    const flags = this.#dataLeft === 0 ? this.#dataFlags : this.#dataFlags & ~FLAG.endStream;
    this.#onFrame(FRAME.data, flags, this.#dataStream, chunk, at, end);
    return end;
  }

  /** Keeps the beginning of a frame. */
  #hold(chunk: Buffer, at: number): void {
    const rest = chunk.length - at;
    this.#held = rest < FRAME_HEAD ? this.#head : Buffer.allocUnsafe(FRAME_HEAD + this.#lengthAt(chunk, at));
    this.#filled = chunk.copy(this.#held, 0, at);
  }

  /** Adds to the frame that is held; gives where in the chunk it ended. */
  #fill(chunk: Buffer, from: number): number {
    let at = from;
    if (this.#held === this.#head) {
      const count = Math.min(FRAME_HEAD - this.#filled, chunk.length - at);
      chunk.copy(this.#head, this.#filled, at, at + count);
      this.#filled += count;
      at += count;
      if (this.#filled < FRAME_HEAD) return at;
      this.#held = Buffer.allocUnsafe(FRAME_HEAD + this.#lengthAt(this.#head, 0));
      this.#head.copy(this.#held);
    }
    const count = Math.min(this.#held.length - this.#filled, chunk.length - at);
    chunk.copy(this.#held, this.#filled, at, at + count);
    this.#filled += count;
    at += count;
    if (this.#filled === this.#held.length) {
      const frame = this.#held;
      this.#held = this.#head;
      this.#filled = 0;
      this.#give(frame, 0, frame.length);
    }
    return at;
  }
}

function streamAt(bytes: Buffer, at: number): number {
  const high = (((bytes[at + 5] ?? 0) & 0x7f) << 24) | ((bytes[at + 6] ?? 0) << 16);
  return high | ((bytes[at + 7] ?? 0) << 8) | (bytes[at + 8] ?? 0);
}
