import { JsonError } from './json-error.ts';
import { decodeToken, KeyLevels } from './key-levels.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const SPACE = 0x20;
/** How far ahead bytes are looked at one by one. */
const NEAR = 24;
/** 1 for the bytes that matter outside strings: one look-up spares the others six comparisons. */
const STRUCTURE = new Uint8Array(256);
for (const code of [QUOTE, COMMA, COLON, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT]) STRUCTURE[code] = 1;

/** Bytes `[start, end)` of a text. */
export interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

/** A string that is a value and long. `start` and `end` are without its quotes. */
export interface LongSpan extends ByteSpan {
  /** The way to it, a mark a level: where the token of its key begins, or -1 - index in an array. */
  readonly trail: readonly number[];
}

/** What `scanJson` knows of a text; true of every text that `JSON.parse` takes. */
export interface JsonScan {
  /** Where each member's value stands, by decoded key, when the text is an object. The last of equal keys, as `JSON.parse` has it. */
  readonly members: ReadonlyMap<string, ByteSpan>;
  /** Where each element stands, when the text is an array. */
  readonly elements: readonly ByteSpan[];
  /** Values inside of objects and arrays that are strings of at least `longFrom` bytes, in their order. */
  readonly long: readonly LongSpan[];
}

export interface ScanOptions {
  /** Most open containers at once: 1 for `{}`. */
  readonly maxDepth: number;
  /** Most keys of all objects together: engines grow slow with each. No bound where left out. */
  readonly maxKeys?: number;
  /** Are equal keys in one object, at any level and however escaped, an error? */
  readonly refuseDuplicates: boolean;
  /** Bytes from which a string is told of as long. None is where left out. */
  readonly longFrom?: number;
}

/**
 * One pass over the structure of a JSON text (RFC 8259). It skips strings by a native search and leaves grammar to
 * `JSON.parse`, which has to follow: together they cost about one parse more. Throws `JsonError` (`depth`,
 * `keys`, `duplicate-key`, `syntax`). Work and memory are linear in the text. `latin1` is the same bytes as a string: it pays where
 * there is much structure. Null where most of the bytes are in long strings.
 */
export function scanJson(
  bytes: Buffer,
  options: ScanOptions,
  latin1: string | null = bytes.toString('latin1'),
): JsonScan {
  return new Scanner(bytes, latin1, options).run();
}

class Scanner {
  /** Structure is read from the bytes, strings are searched and cut in the text, if there is one: each is the faster one for it. */
  readonly #bytes: Buffer;
  readonly #text: string | null;
  readonly #maxDepth: number;
  readonly #keys: KeyLevels | null;
  readonly #maxKeys: number;
  readonly #longFrom: number;
  readonly #long: LongSpan[] = [];
  #keyCount = 0;
  readonly #members = new Map<string, ByteSpan>();
  readonly #elements: ByteSpan[] = [];
  /** A level's last key token's start when it is an object, or -1 - index when it is an array: the way to a fault. */
  readonly #trail: number[] = [];
  #valueStart = -1;
  #keyStart = -1;
  #keyEnd = -1;

  constructor(bytes: Buffer, text: string | null, options: ScanOptions) {
    this.#bytes = bytes;
    this.#text = text;
    this.#maxDepth = options.maxDepth;
    this.#maxKeys = options.maxKeys ?? Number.POSITIVE_INFINITY;
    this.#longFrom = options.longFrom ?? Number.POSITIVE_INFINITY;
    this.#keys = options.refuseDuplicates ? new KeyLevels() : null;
  }

  run(): JsonScan {
    const bytes = this.#bytes;
    const trail = this.#trail;
    const { length } = bytes;
    let depth = 0;
    let inObject = false;
    let expectKey = false;
    for (let at = 0; at < length; at += 1) {
      const code = bytes[at] ?? 0;
      if (STRUCTURE[code] === 0) continue;
      if (code === QUOTE) {
        const end = stringEnd(bytes, this.#text, at);
        if (expectKey) {
          expectKey = false;
          this.#key(at, end, depth);
        } else if (end - at > this.#longFrom && depth > 0) {
          this.#long.push({ start: at + 1, end, trail: trail.slice(0, depth) });
        }
        at = end;
      } else if (code === COMMA) {
        if (depth === 1) this.#endValue(at, inObject);
        if (inObject) expectKey = true;
        else if (depth > 0) trail[depth - 1] = (trail[depth - 1] ?? 0) - 1;
      } else if (code === COLON) {
        if (depth === 1) this.#valueStart = at + 1;
      } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
        if (depth >= this.#maxDepth) throw tooDeep(this.#maxDepth, at);
        inObject = code === OPEN_OBJECT;
        expectKey = inObject;
        trail[depth] = inObject ? 0 : -1;
        depth += 1;
        if (inObject) this.#keys?.open();
        else if (depth === 1) this.#valueStart = at + 1;
      } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
        if (depth === 0 || inObject !== (code === CLOSE_OBJECT)) throw broken(at);
        if (depth === 1) this.#endValue(at, inObject);
        if (inObject) this.#keys?.close();
        depth -= 1;
        inObject = depth > 0 && (trail[depth - 1] ?? 0) >= 0;
        expectKey = false;
      }
    }
    if (depth > 0) throw broken(length);
    return { members: this.#members, elements: this.#elements, long: this.#long };
  }

  #key(at: number, end: number, depth: number): void {
    this.#keyCount += 1;
    if (this.#keyCount > this.#maxKeys) {
      throw new JsonError('keys', `The JSON has more than ${this.#maxKeys} keys.`, at);
    }
    this.#trail[depth - 1] = at;
    if (depth === 1) {
      this.#keyStart = at;
      this.#keyEnd = end + 1;
    }
    if (this.#keys === null || this.#keysAdd(at, end)) return;
    throw new JsonError('duplicate-key', 'An object has the same key twice.', at, this.#path(depth));
  }

  #keysAdd(at: number, end: number): boolean {
    try {
      return this.#keys?.add(this.#cut(at, end + 1)) ?? true;
    } catch (cause) {
      if (cause instanceof SyntaxError) throw broken(at);
      throw cause;
    }
  }

  /** At a comma or the end of the outermost container: the value before it is whole. */
  #endValue(at: number, inObject: boolean): void {
    const bytes = this.#bytes;
    let start = this.#valueStart;
    let end = at;
    if (start < 0) return;
    while (start < end && (bytes[start] ?? 0) <= SPACE) start += 1;
    while (end > start && (bytes[end - 1] ?? 0) <= SPACE) end -= 1;
    this.#valueStart = inObject ? -1 : at + 1;
    if (start === end) return;
    if (!inObject) this.#elements.push({ start, end });
    else if (this.#keyStart >= 0) {
      this.#members.set(this.#token(this.#keyStart, this.#keyEnd), { start, end });
      this.#keyStart = -1;
    }
  }

  #cut(start: number, end: number): string {
    return this.#text?.slice(start, end) ?? this.#bytes.toString('latin1', start, end);
  }

  #token(start: number, end: number): string {
    return keyOf(this.#cut(start, end), start);
  }

  #path(depth: number): string {
    let path = '';
    for (let level = 0; level < depth; level += 1) {
      const mark = this.#trail[level] ?? 0;
      if (mark < 0) path += `[${-1 - mark}]`;
      else path += `${path === '' ? '' : '.'}${this.#token(mark, stringEnd(this.#bytes, this.#text, mark) + 1)}`;
    }
    return path;
  }
}

/** The key whose token begins here, in a text that was scanned. */
export function keyAt(bytes: Buffer, start: number): string {
  return keyOf(bytes.toString('latin1', start, stringEnd(bytes, null, start) + 1), start);
}

function keyOf(token: string, start: number): string {
  if (isPlain(token)) return token.slice(1, -1);
  try {
    return decodeToken(token);
  } catch (cause) {
    if (cause instanceof SyntaxError) throw broken(start);
    throw cause;
  }
}

/** Position of the closing quote. A run of backslashes is counted once, at the quote behind it. */
function stringEnd(bytes: Buffer, text: string | null, open: number): number {
  let end = nextQuote(bytes, text, open + 1);
  while (end !== -1) {
    let before = end - 1;
    while (bytes[before] === BACKSLASH) before -= 1;
    if ((end - before) % 2 === 1) return end;
    end = nextQuote(bytes, text, end + 1);
  }
  throw broken(open);
}

function nextQuote(bytes: Buffer, text: string | null, from: number): number {
  if (text !== null) return text.indexOf('"', from);
  // A search in bytes costs a call out of the engine, which short strings need not pay.
  const near = Math.min(from + NEAR, bytes.length);
  for (let at = from; at < near; at += 1) if (bytes[at] === QUOTE) return at;
  return bytes.indexOf(QUOTE, near);
}

function isPlain(token: string): boolean {
  for (let at = 0; at < token.length; at += 1) {
    const code = token.charCodeAt(at);
    if (code === BACKSLASH || code >= 0x80) return false;
  }
  return true;
}

function broken(position: number): JsonError {
  return new JsonError('syntax', 'The text is not valid JSON.', position);
}

function tooDeep(maxDepth: number, position: number): JsonError {
  return new JsonError('depth', `The JSON is nested deeper than ${maxDepth} levels.`, position);
}
