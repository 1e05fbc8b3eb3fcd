const QUOTE = '"';
const BACKSLASH = 0x5c;
/** Bytes of the longest escape. */
const ESCAPE_BYTES = 6;
/** How far back a run of backslashes is followed. */
const FAR_BACK = 64;

export interface LongStringOptions {
  /** The text that it is a part of, and whether all of that is ASCII. It must not change. */
  readonly bytes: Buffer;
  readonly isAscii: boolean;
  /** Its bytes without the quotes: checked to be those of a JSON string. */
  readonly start: number;
  readonly end: number;
}

/** A long string in a JSON text: known to be sound, and decoded when somebody asks what it says. */
export class LongString {
  readonly #bytes: Buffer;
  readonly #isAscii: boolean;
  readonly #start: number;
  readonly #end: number;
  readonly #isPlain: boolean;
  #text: string | null = null;

  constructor({ bytes, isAscii, start, end }: LongStringOptions) {
    this.#bytes = bytes;
    this.#isAscii = isAscii;
    this.#start = start;
    this.#end = end;
    this.#isPlain = !bytes.subarray(start, end).includes(BACKSLASH);
  }

  /** Bytes that it takes in its text. */
  get length(): number {
    return this.#end - this.#start;
  }

  /** What it says. */
  get text(): string {
    this.#text ??= this.#decode(this.#start, this.#end);
    return this.#text;
  }

  /** About what `length` of its bytes say, from byte `from` on. */
  piece(from: number, length: number): string {
    const start = this.#boundary(this.#start + from);
    const end = this.#boundary(Math.min(this.#start + from + length, this.#end));
    try {
      return this.#decode(start, end);
    } catch {
      // Cut in the middle of an escape, which a very long run of backslashes does not show.
      return this.#raw(start, end);
    }
  }

  #decode(start: number, end: number): string {
    const raw = this.#raw(start, end);
    return this.#isPlain ? raw : (JSON.parse(QUOTE + raw + QUOTE) as string);
  }

  #raw(start: number, end: number): string {
    return textBetween(this.#bytes, this.#isAscii, start, end);
  }

  /** A place near `at` where a character begins: there, or not far before. */
  #boundary(at: number): number {
    if (at >= this.#end) return this.#end;
    const bytes = this.#bytes;
    let place = at;
    while (place > this.#start && ((bytes[place] ?? 0) & 0xc0) === 0x80) place -= 1;
    if (this.#isPlain) return place;
    const near = Math.max(this.#start, place - ESCAPE_BYTES + 1);
    for (let before = place; before >= near; before -= 1) {
      if (bytes[before] !== BACKSLASH) continue;
      // Whatever stands before a run of backslashes ends there.
      const far = Math.max(this.#start, before - FAR_BACK);
      while (before > far && bytes[before - 1] === BACKSLASH) before -= 1;
      return before;
    }
    return place;
  }
}

/** The bytes `[start, end)` as UTF-8, at less cost where all are known to be ASCII. */
export function textBetween(bytes: Buffer, isAscii: boolean, start: number, end: number): string {
  return isAscii ? bytes.toString('latin1', start, end) : bytes.toString('utf8', start, end);
}
