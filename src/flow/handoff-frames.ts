import type { AttemptReply, AttemptRequest } from '../core/exchange.ts';
import { HeaderList, type HeaderPair, type LocalResponse, type RequestHead, type ResponseHead } from '../core/http.ts';

/** What the process that has an attempt's stream says to the one that has its request; each `ask` gets one `answer`. */
export type Ask =
  | { readonly kind: 'request-head'; readonly id: string; readonly cluster: string; readonly head: PlainHead }
  | { readonly kind: 'response-head'; readonly status: number; readonly headers: readonly HeaderPair[]; readonly end: boolean }
  | { readonly kind: 'response-body'; readonly chunk: Buffer; readonly end: boolean };

export type Answer =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'opened'; readonly opened: AttemptRequest | { readonly kind: 'respond'; readonly response: LocalResponse } }
  | { readonly kind: 'reply'; readonly reply: AttemptReply };

export interface PlainHead {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly HeaderPair[];
}

export function plainHead(head: RequestHead): PlainHead {
  return { method: head.method, path: head.path, headers: [...head.headers] };
}

export function requestHeadOf(head: PlainHead): RequestHead {
  return { ...head, headers: new HeaderList(head.headers) };
}

export function responseHeadOf(ask: { status: number; headers: readonly HeaderPair[] }): ResponseHead {
  return { status: ask.status, headers: new HeaderList(ask.headers) };
}

/** The longest frame that is read: a whole request body in base64 and its headers. */
const MAX_FRAME = 256 * 1024 * 1024;

/** One frame: 4 bytes of length, then JSON with binary as `{"$bytes": base64}`. */
export function encodeFrame(message: Ask | Answer): Buffer {
  const json = Buffer.from(JSON.stringify(message, binaryToJson));
  const frame = Buffer.allocUnsafe(4 + json.length);
  frame.writeUInt32BE(json.length);
  json.copy(frame, 4);
  return frame;
}

function binaryToJson(_key: string, value: unknown): unknown {
  if (typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer' && 'data' in value) {
    return { $bytes: Buffer.from(value.data as number[]).toString('base64') };
  }
  return value;
}

function binaryFromJson(_key: string, value: unknown): unknown {
  if (typeof value === 'object' && value !== null && '$bytes' in value && typeof value.$bytes === 'string') {
    return Buffer.from(value.$bytes, 'base64');
  }
  return value;
}

/** Cuts a byte stream into frames. Throws `RangeError` for a frame past the limit. */
export class FrameReader<T> {
  #chunks: Buffer[] = [];
  #size = 0;

  push(chunk: Buffer): readonly T[] {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    const frames: T[] = [];
    while (this.#size >= 4) {
      const all = this.#chunks.length === 1 && this.#chunks[0] !== undefined ? this.#chunks[0] : Buffer.concat(this.#chunks);
      this.#chunks = [all];
      const length = all.readUInt32BE(0);
      if (length > MAX_FRAME) throw new RangeError(`frame of ${length} bytes`);
      if (all.length < 4 + length) break;
      frames.push(JSON.parse(all.toString('utf8', 4, 4 + length), binaryFromJson) as T);
      this.#chunks = [all.subarray(4 + length)];
      this.#size -= 4 + length;
    }
    return frames;
  }
}
