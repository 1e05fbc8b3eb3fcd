import { type ByteSpan } from '../../lib/json-span/scan-json.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LOWER_U = 0x75;
const SPACE = 0x20;
/** A native call costs as much as a loop over about this many bytes. */
const NATIVE_FROM = 96;
/** `"`, `\`, `/`, `b`, `f`, `n`, `r`, `t`: what may stand behind a backslash besides `u` and four digits. */
const ESCAPES = new Set(Buffer.from('"\\/bfnrt'));

/**
 * The shape that the chunks of one stream share: the same bytes but for the text in one or two string values. What a parse
 * found out about one chunk holds for every other that fits, so these need no parse: the fixed parts are compared natively
 * and only the few bytes of text are looked at.
 */
export class ChunkTemplate {
  /** Does its text stand in the arguments of a tool call? */
  readonly tool: boolean;
  readonly #fixed: readonly Buffer[];
  /** The fixed parts as the client shall see them, where they differ. */
  readonly #shown: readonly Buffer[] | null;
  readonly #length: number;
  /** UTF-16 units of the first hole of the chunk that fitted last, and the holes' places in it. */
  chars = 0;
  readonly #holes: number[] = [];

  /** `holes` are the spans of the strings with their quotes, in order, in `text` and in `shown`. */
  constructor(
    text: Buffer,
    holes: readonly ByteSpan[],
    shown: { readonly text: Buffer; readonly holes: readonly ByteSpan[] } | null,
    tool: boolean,
  ) {
    this.tool = tool;
    this.#fixed = between(text, holes);
    this.#shown = shown === null ? null : between(shown.text, shown.holes);
    this.#length = this.#fixed.reduce((sum, part) => sum + part.length, 0);
  }

  /** Sets `chars` and tells whether a chunk fits. */
  fits(data: Buffer): boolean {
    if (data.length < this.#length) return false;
    const fixed = this.#fixed;
    const last = fixed.length - 1;
    let at = 0;
    for (let part = 0; part <= last; part += 1) {
      const expected = fixed[part] as Buffer;
      const end = at + expected.length;
      if (end > data.length || (part === last && end !== data.length)) return false;
      if (!matches(data, at, expected)) return false;
      at = end;
      if (part === last) break;
      this.#holes[part * 2] = at;
      at = this.#text(data, at, part === 0);
      if (at === -1) return false;
      this.#holes[part * 2 + 1] = at;
    }
    return true;
  }

  /** The chunk that fitted last, as the client shall see it. */
  show(data: Buffer): Buffer {
    const shown = this.#shown;
    if (shown === null) return data;
    let length = data.length - this.#length;
    for (const part of shown) length += part.length;
    const out = Buffer.allocUnsafe(length);
    let at = 0;
    for (let part = 0; part < shown.length; part += 1) {
      const fixed = shown[part] as Buffer;
      out.set(fixed, at);
      at += fixed.length;
      if (part * 2 < this.#holes.length && part < shown.length - 1) {
        at += data.copy(out, at, this.#holes[part * 2], this.#holes[part * 2 + 1]);
      }
    }
    return out;
  }

  /** End of the string's text that starts here, or -1 when it is not valid. */
  #text(data: Buffer, from: number, counted: boolean): number {
    let at = from;
    let chars = 0;
    for (;;) {
      const byte = data[at];
      if (byte === QUOTE) break;
      if (byte === undefined || byte < SPACE) return -1;
      if (byte === BACKSLASH) {
        const next = escapeEnd(data, at);
        if (next === -1) return -1;
        at = next;
        chars += 1;
      } else {
        // A character is counted at its first byte; one of four bytes is two UTF-16 units.
        if ((byte & 0xc0) !== 0x80) chars += byte >= 0xf0 ? 2 : 1;
        at += 1;
      }
    }
    if (counted) this.chars = chars;
    return at;
  }
}

function matches(data: Buffer, at: number, expected: Buffer): boolean {
  const { length } = expected;
  if (length > NATIVE_FROM) return data.compare(expected, 0, length, at, at + length) === 0;
  for (let place = 0; place < length; place += 1) if (data[at + place] !== expected[place]) return false;
  return true;
}

function escapeEnd(data: Buffer, at: number): number {
  const kind = data[at + 1] ?? 0;
  if (kind !== LOWER_U) return ESCAPES.has(kind) ? at + 2 : -1;
  for (let digit = at + 2; digit < at + 6; digit += 1) {
    const byte = data[digit] ?? 0;
    const lower = byte | 0x20;
    if (!((byte >= 0x30 && byte <= 0x39) || (lower >= 0x61 && lower <= 0x66))) return -1;
  }
  return at + 6;
}

function between(text: Buffer, holes: readonly ByteSpan[]): Buffer[] {
  const parts: Buffer[] = [];
  let at = 0;
  for (const { start, end } of holes) {
    parts.push(Buffer.from(text.subarray(at, start + 1)));
    at = end - 1;
  }
  parts.push(Buffer.from(text.subarray(at)));
  return parts;
}
