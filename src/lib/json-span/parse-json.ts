import { isAscii, isUtf8 } from 'node:buffer';
import { JsonError } from './json-error.ts';
import { type JsonScan, scanJson, type ScanOptions } from './scan-json.ts';

const BACKSLASH = 0x5c;
const LOWER_U = 0x75;

/** A checked text: the value, and where its members or elements stand. */
export interface ParsedJson extends JsonScan {
  /** As `JSON.parse` gives it: `__proto__` is an own key like any other. */
  readonly value: unknown;
}

/**
 * Parses a JSON text in bytes by the book: UTF-8 and nothing else, no byte order mark, no half surrogate pair in an escape,
 * no more levels than `maxDepth`, on wish no key twice. What it takes means the same to every reader. Throws `JsonError`.
 */
export function parseJson(body: Buffer, options: ScanOptions): ParsedJson {
  const ascii = isAscii(body);
  if (!ascii) {
    if (!isUtf8(body)) throw new JsonError('encoding', 'The text is not valid UTF-8.');
    if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) {
      throw new JsonError('encoding', 'The text starts with a byte order mark.', 0);
    }
  }
  const latin1 = body.toString('latin1', 0, body.length);
  const scan = scanJson(body, options, latin1);
  refuseHalfPairs(body, latin1);
  return {
    value: parse(ascii ? latin1 : body.toString('utf8', 0, body.length)),
    members: scan.members,
    elements: scan.elements,
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The engine's message quotes the text, which may hold what nobody else should read.
    throw new JsonError('syntax', 'The text is not valid JSON.');
  }
}

/** `\ud83d` alone has no UTF-8 form: readers disagree about it. In valid JSON a backslash stands in strings only. */
function refuseHalfPairs(bytes: Buffer, text: string): void {
  let at = text.indexOf('\\');
  while (at !== -1) {
    const unit = bytes[at + 1] === LOWER_U ? escapedUnit(bytes, at) : -1;
    let next = at + 2;
    if (unit >= 0xd800 && unit <= 0xdfff) {
      const low = unit < 0xdc00 ? escapedUnit(bytes, at + 6) : -1;
      if (low < 0xdc00 || low > 0xdfff) throw new JsonError('encoding', 'An escape is half of a surrogate pair.', at);
      next = at + 12;
    }
    // Escapes come in runs, which need no search.
    at = bytes[next] === BACKSLASH ? next : text.indexOf('\\', next);
  }
}

/** The UTF-16 unit of a `\uXXXX` at this place, or -1. */
function escapedUnit(bytes: Buffer, at: number): number {
  if (bytes[at] !== BACKSLASH || bytes[at + 1] !== LOWER_U) return -1;
  let unit = 0;
  for (let digit = at + 2; digit < at + 6; digit += 1) {
    const value = hexDigit(bytes[digit] ?? 0);
    if (value === -1) return -1;
    unit = unit * 16 + value;
  }
  return unit;
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
