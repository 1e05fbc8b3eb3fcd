import { wholeBody } from '../core/body-pieces.ts';
import type { AttemptReply, AttemptRequest } from '../core/exchange.ts';
import { HeaderList, type HeaderPair, type LocalResponse, type RequestHead, type ResponseHead } from '../core/http.ts';

/** What the process that has an attempt's stream says to the one that has its request; each `ask` gets one `answer`. */
export type Ask =
  | {
      readonly kind: 'request-head';
      readonly id: string;
      readonly cluster: string;
      readonly isConnected: boolean;
      readonly address?: string;
      readonly head: PlainHead;
    }
  | {
      readonly kind: 'response-head';
      readonly status: number;
      readonly headers: readonly HeaderPair[];
      readonly end: boolean;
    }
  | { readonly kind: 'response-body'; readonly chunk: Buffer; readonly end: boolean }
  /** Not about an attempt of this connection, and not answered. */
  | { readonly kind: 'upstream-cut'; readonly id: string };

export type Answer =
  | { readonly kind: 'unknown' }
  | {
      readonly kind: 'opened';
      readonly opened: AttemptRequest | { readonly kind: 'respond'; readonly response: LocalResponse };
    }
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
  const json = Buffer.from(
    JSON.stringify(plainBytes(message), function replace(this: Record<string, unknown>, key: string, value: unknown) {
      return binaryToJson(this[key], value);
    }),
  );
  const frame = Buffer.allocUnsafe(4 + json.length);
  frame.writeUInt32BE(json.length);
  json.copy(frame, 4);
  return frame;
}

/** Bytes travel as plain views, which have no `toJSON` of their own as a `Buffer` has. */
function binaryToJson(raw: unknown, value: unknown): unknown {
  if (!(raw instanceof Uint8Array)) return value;
  return { $bytes: Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('base64') };
}

/** The same bytes without `Buffer`'s `toJSON`, which would make an array of numbers first. */
function view(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** `message` with every body as a plain view. */
function plainBytes(message: Ask | Answer): unknown {
  if (message.kind === 'response-body') return { ...message, chunk: view(message.chunk) };
  if (message.kind !== 'opened') return message;
  const { opened } = message;
  if (opened.kind === 'replace') return { ...message, opened: { ...opened, body: view(wholeBody(opened.body)) } };
  return { ...message, opened: { ...opened, response: { ...opened.response, body: view(opened.response.body) } } };
}

function binaryFromJson(_key: string, value: unknown): unknown {
  if (typeof value === 'object' && value !== null && '$bytes' in value && typeof value.$bytes === 'string') {
    return Buffer.from(value.$bytes, 'base64');
  }
  return value;
}

/** Cuts a byte stream into frames; joins the pieces of a frame once. Throws `RangeError` for a frame past the limit. */
export class FrameReader<T> {
  #chunks: Buffer[] = [];
  #size = 0;
  /** Bytes that must be there before a look is worth it: a length, or a whole frame. */
  #need = 4;

  push(chunk: Buffer): readonly T[] {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size < this.#need) return [];
    let rest = Buffer.concat(this.#chunks);
    const frames: T[] = [];
    this.#need = 4;
    while (rest.length >= 4) {
      const length = rest.readUInt32BE(0);
      if (length > MAX_FRAME) throw new RangeError(`frame of ${length} bytes`);
      if (rest.length < 4 + length) {
        this.#need = 4 + length;
        break;
      }
      frames.push(JSON.parse(rest.toString('utf8', 4, 4 + length), binaryFromJson) as T);
      rest = rest.subarray(4 + length);
    }
    this.#chunks = [rest];
    this.#size = rest.length;
    return frames;
  }
}
