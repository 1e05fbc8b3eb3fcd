import { MalformedMessage } from './malformed-message.ts';

/** The wire types of https://protobuf.dev/programming-guides/encoding/. */
export const VARINT = 0;
const FIXED64 = 1;
export const BYTES = 2;
const GROUP_START = 3;
const GROUP_END = 4;
const FIXED32 = 5;

/** How deep unknown groups may nest: proto3 makes none, so anything deep is an attack on the stack. */
const MAX_GROUP_DEPTH = 32;

/**
 * Reads one message's fields. Sub-messages share the reader and are bounded by `end`, so nothing is copied and no view is
 * made before a value is wanted. Every method throws `MalformedMessage` instead of reading past the end.
 */
export class WireReader {
  readonly buffer: Buffer;
  position = 0;
  end: number;

  constructor(buffer: Buffer) {
    this.buffer = buffer;
    this.end = buffer.length;
  }

  get more(): boolean {
    return this.position < this.end;
  }

  /** A tag: `field << 3 | wire type`. */
  tag(): number {
    const tag = this.uint32();
    if (tag >>> 3 === 0) throw new MalformedMessage(`field number 0 at byte ${this.position}`);
    return tag;
  }

  /** A varint of at most ten bytes, cut to its low 32 bits. */
  uint32(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.position >= this.end) throw new MalformedMessage(`cut varint at byte ${this.position}`);
      const byte = this.buffer[this.position++] ?? 0;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new MalformedMessage(`varint of more than ten bytes at byte ${this.position}`);
  }

  /** A varint as proto's `bool`: any bit of the 64 makes it true. */
  bool(): boolean {
    let set = false;
    for (let count = 0; count < 10; count++) {
      if (this.position >= this.end) throw new MalformedMessage(`cut varint at byte ${this.position}`);
      const byte = this.buffer[this.position++] ?? 0;
      set ||= (byte & 0x7f) !== 0;
      if (byte < 0x80) return set;
    }
    throw new MalformedMessage(`varint of more than ten bytes at byte ${this.position}`);
  }

  double(): number {
    const at = this.#advance(8);
    return this.buffer.readDoubleLE(at);
  }

  /** Enters a length-delimited field: gives the end of the enclosing message, to be handed to `leave`. */
  enter(): number {
    const outer = this.end;
    this.end = this.#span();
    return outer;
  }

  leave(outer: number): void {
    this.position = this.end;
    this.end = outer;
  }

  /** A view of a length-delimited field, not a copy. */
  bytes(): Buffer {
    const end = this.#span();
    const view = this.buffer.subarray(this.position, end);
    this.position = end;
    return view;
  }

  /** Header text: bytes as they are, one character each, so that nothing is lost on the way back. */
  latin1(): string {
    const end = this.#span();
    const text = this.buffer.toString('latin1', this.position, end);
    this.position = end;
    return text;
  }

  /** The rest of the message at hand as text, one character a byte, for `slice`: one call out of the engine in place of many. */
  text(): string {
    return this.buffer.toString('latin1', this.position, this.end);
  }

  /** The same as `latin1`, cut out of `text`, which began at byte `from`. */
  slice(text: string, from: number): string {
    const end = this.#span();
    const cut = text.slice(this.position - from, end - from);
    this.position = end;
    return cut;
  }

  utf8(): string {
    const end = this.#span();
    const text = this.buffer.toString('utf8', this.position, end);
    this.position = end;
    return text;
  }

  /** Passes over the value that belongs to `tag`: a field that we do not know, or know in another form. */
  skip(tag: number, depth = 0): void {
    switch (tag & 7) {
      case VARINT:
        this.bool();
        return;
      case FIXED64:
        this.#advance(8);
        return;
      case BYTES:
        this.position = this.#span();
        return;
      case GROUP_START:
        this.#skipGroup(tag >>> 3, depth + 1);
        return;
      case FIXED32:
        this.#advance(4);
        return;
      default:
        throw new MalformedMessage(`wire type ${tag & 7} at byte ${this.position}`);
    }
  }

  #skipGroup(field: number, depth: number): void {
    if (depth > MAX_GROUP_DEPTH) throw new MalformedMessage(`groups nested too deep at byte ${this.position}`);
    for (;;) {
      const tag = this.tag();
      if ((tag & 7) !== GROUP_END) {
        this.skip(tag, depth);
        continue;
      }
      if (tag >>> 3 !== field) throw new MalformedMessage(`wrong end of group at byte ${this.position}`);
      return;
    }
  }

  #span(): number {
    const length = this.uint32();
    const end = this.position + length;
    if (end > this.end) throw new MalformedMessage(`length ${length} past the end at byte ${this.position}`);
    return end;
  }

  #advance(length: number): number {
    const at = this.position;
    if (at + length > this.end) throw new MalformedMessage(`cut value at byte ${at}`);
    this.position = at + length;
    return at;
  }
}
