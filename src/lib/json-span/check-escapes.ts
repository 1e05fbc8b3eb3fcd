import { JsonError } from './json-error.ts';

const BACKSLASH = 0x5c;
const LOWER_U = 0x75;
/** 1 for what may stand behind a backslash. */
const ESCAPED = new Uint8Array(256);
for (const letter of '"\\/bfnrtu') ESCAPED[letter.charCodeAt(0)] = 1;

/**
 * Is each escape of a JSON text one that there is? In valid JSON a backslash stands in strings only. Throws `JsonError`
 * (`encoding`) for `\ud83d` alone, which has no UTF-8 form: readers disagree about it. `latin1` is the same bytes as a string, where
 * there is one: it is searched faster for what is near.
 */
export function areEscapesSound(bytes: Buffer, latin1: string | null): boolean {
  let isSound = true;
  let at = nextEscape(bytes, latin1, 0);
  while (at !== -1) {
    const letter = bytes[at + 1] ?? 0;
    let next = at + 2;
    if (letter === LOWER_U) {
      const unit = escapedUnit(bytes, at);
      if (unit === -1) isSound = false;
      if (unit >= 0xd800 && unit <= 0xdfff) {
        const low = unit < 0xdc00 ? escapedUnit(bytes, at + 6) : -1;
        if (low < 0xdc00 || low > 0xdfff) throw new JsonError('encoding', 'An escape is half of a surrogate pair.', at);
        next = at + 12;
      }
    } else if (ESCAPED[letter] === 0) isSound = false;
    // Escapes come in runs, which need no search.
    at = bytes[next] === BACKSLASH ? next : nextEscape(bytes, latin1, next);
  }
  return isSound;
}

function nextEscape(bytes: Buffer, latin1: string | null, from: number): number {
  return latin1 === null ? bytes.indexOf(BACKSLASH, from) : latin1.indexOf('\\', from);
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
