import type { Json } from '../../core/json.ts';
import type { ByteSpan } from '../../lib/json-span/scan-json.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LOWER_U = 0x75;
const SPACE = 0x20;
const ZERO = 0x30;
/** Any number of so many digits is exact. */
const MAX_DIGITS = 15;
/** A native call costs as much as a loop over about this many bytes. */
const NATIVE_FROM = 96;
/** `"`, `\`, `/`, `b`, `f`, `n`, `r`, `t`: what may stand behind a backslash besides `u` and four digits. */
const ESCAPES = new Set(Buffer.from('"\\/bfnrt'));

/** A value that differs from chunk to chunk: the text (a string), its padding (likewise), or a count of the usage. */
export interface Hole {
  readonly kind: 'text' | 'padding' | 'count';
  /** Of the whole value, a string's quotes included. */
  readonly span: ByteSpan;
  /** Member of the usage, for counts. */
  readonly name: string;
}

export interface ChunkTemplateParts {
  readonly text: Buffer;
  /** In the order of the text. */
  readonly holes: readonly Hole[];
  /** The same chunk as the client shall see it, where that differs. */
  readonly shown: { readonly text: Buffer; readonly holes: readonly Hole[] } | null;
  /** Choice that the chunks belong to. */
  readonly choice: number;
  /** Does the text stand in the arguments of a tool call? */
  readonly tool: boolean;
  readonly usage: { readonly [key: string]: Json } | null;
}

/**
 * The shape that the chunks of one stream share: the same bytes but for a text, and counts of tokens where the server tells
 * them on every chunk. What a parse found out about one chunk holds for every other that fits, so these need no parse: the
 * fixed parts are compared natively and only the few bytes between are looked at.
 */
export class ChunkTemplate {
  readonly choice: number;
  readonly tool: boolean;
  /** UTF-16 units of the text of the chunk that fitted last. */
  chars = 0;
  readonly #kinds: readonly Hole['kind'][];
  readonly #names: readonly string[];
  readonly #usage: { readonly [key: string]: Json } | null;
  readonly #fixed: readonly Buffer[];
  readonly #shown: readonly Buffer[] | null;
  readonly #length: number;
  /** Start and end of each hole in the chunk that fitted last, and its value where it is a count. */
  readonly #places: number[] = [];
  readonly #counts: number[] = [];

  constructor({ text, holes, shown, choice, tool, usage }: ChunkTemplateParts) {
    this.choice = choice;
    this.tool = tool;
    this.#usage = usage;
    this.#kinds = holes.map(({ kind }) => kind);
    this.#names = holes.map(({ name }) => name);
    this.#fixed = between(text, holes);
    this.#shown = shown === null ? null : between(shown.text, shown.holes);
    this.#length = this.#fixed.reduce((sum, part) => sum + part.length, 0);
  }

  /** The usage of the chunk that fitted last; null when its kind has none. */
  get usage(): { readonly [key: string]: Json } | null {
    if (this.#usage === null) return null;
    const usage: Record<string, Json> = { ...this.#usage };
    this.#kinds.forEach((kind, hole) => {
      if (kind === 'count') usage[this.#names[hole] ?? ''] = this.#counts[hole] ?? null;
    });
    return usage;
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
      this.#places[part * 2] = at;
      const kind = this.#kinds[part];
      at = kind === 'count' ? this.#count(data, at, part) : this.#text(data, at, kind === 'text');
      if (at === -1) return false;
      this.#places[part * 2 + 1] = at;
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
      if (part < shown.length - 1) at += data.copy(out, at, this.#places[part * 2], this.#places[part * 2 + 1]);
    }
    return out;
  }

  /** End of the whole number that starts here, or -1 for any other value. */
  #count(data: Buffer, from: number, hole: number): number {
    let at = from;
    let value = 0;
    for (; at - from <= MAX_DIGITS; at += 1) {
      const digit = (data[at] ?? 0) - ZERO;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
    }
    const digits = at - from;
    if (digits === 0 || digits > MAX_DIGITS || (digits > 1 && data[from] === ZERO)) return -1;
    this.#counts[hole] = value;
    return at;
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

/** The fixed parts; a string's quotes belong to them. */
function between(text: Buffer, holes: readonly Hole[]): Buffer[] {
  const parts: Buffer[] = [];
  let at = 0;
  for (const { kind, span } of holes) {
    const quote = kind === 'count' ? 0 : 1;
    parts.push(Buffer.from(text.subarray(at, span.start + quote)));
    at = span.end - quote;
  }
  parts.push(Buffer.from(text.subarray(at)));
  return parts;
}
