/** What a text has that calls for more than a plain look; none is 0. */
export const NON_ASCII = 1;
/** Space that is more than single blanks. */
export const WIDE_SPACE = 2;
/** `%`, `&` or `\` with something behind it that it may stand for. */
export const ESCAPES = 4;
/** Digits or marks that touch letters as if they were some. */
export const LEET = 8;
/** A run that may be base64. */
export const ENCODED = 16;
/** Letters that stand alone in a row, or marks between letters. */
export const APART = 32;
/** Control characters that nobody sees: all but those that are space. */
export const CONTROLS = 64;

const LETTER = 1;
const DIGIT = 2;
const BLANK = 3;
const CONTROL = 4;
const MARK = 5;
const OTHER = 6;
const LEET_MARK = 7;

const KINDS = new Uint8Array(128).fill(OTHER);
for (let unit = 0; unit < 32; unit++) KINDS[unit] = CONTROL;
KINDS[127] = CONTROL;
KINDS[32] = BLANK;
for (let unit = 48; unit < 58; unit++) KINDS[unit] = DIGIT;
for (let unit = 65; unit < 91; unit++) {
  KINDS[unit] = LETTER;
  KINDS[unit + 32] = LETTER;
}
for (const char of "-_.*'`~^:") KINDS[char.charCodeAt(0)] = MARK;
for (const char of '@$!|+') KINDS[char.charCodeAt(0)] = LEET_MARK;

/** A small letter; behind the end of a text there is none. */
const isSmall = (unit: number): boolean => unit > 96 && unit < 123;
const isWord = (kind: number): boolean => kind === LETTER || kind === DIGIT;

/** The part of the profile that two neighbours show. */
function pairFlags(before: number, kind: number, unit: number): number {
  if (kind === LETTER) return before === DIGIT || before === LEET_MARK ? LEET : 0;
  if (kind === DIGIT) return before === LETTER || before === LEET_MARK ? LEET : 0;
  if (kind === BLANK) return before === BLANK ? WIDE_SPACE : 0;
  if (kind === CONTROL) return unit > 8 && unit < 14 ? WIDE_SPACE : CONTROLS;
  // `!` and `+` end too many honest words.
  if (kind === LEET_MARK) return before === LETTER && unit !== 33 && unit !== 43 ? LEET : 0;
  return unit === 37 || unit === 38 || unit === 92 ? ESCAPES : 0;
}

/** Are the two units before `start` no letters or digits? */
function endsInGap(text: string, start: number): boolean {
  if (start < 2) return false;
  const gap = (at: number): boolean => !isWord(KINDS[text.charCodeAt(at)] ?? OTHER);
  return gap(start - 1) && gap(start - 2);
}

/**
 * One cheap pass over `text` that says which of the dear ones may find anything. It errs only towards more: a disguise that
 * the other functions of this folder undo always raises its flag. Of a part `[start, end)` alone on wish.
 */
export function profileText(text: string, start = 0, end = text.length): number {
  let flags = 0;
  let before = start === 0 ? BLANK : (KINDS[text.charCodeAt(start - 1)] ?? OTHER);
  let beforeMark = BLANK;
  let word = 0;
  // Behind a gap that may be of any length there may be a letter that stood alone.
  let alone = endsInGap(text, start) ? 1 : 0;
  let run = 0;
  let mixed = false;
  for (let i = start; i < end; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 127) {
      flags |= NON_ASCII;
      before = OTHER;
      run = 0;
      continue;
    }
    if ((before === LETTER || before === BLANK) && isSmall(unit)) {
      // Small letters of a word, and the blank behind them, are most of any text: they change nothing but the lengths.
      const from = i;
      do i++;
      while (isSmall(text.charCodeAt(i)));
      word += i - from;
      run += i - from;
      if (mixed && run >= 8) flags |= ENCODED;
      before = LETTER;
      if (text.charCodeAt(i) !== 32) {
        i--;
        continue;
      }
      alone = word === 1 ? alone + 1 : 0;
      if (alone >= 2) flags |= APART;
      word = 0;
      run = 0;
      mixed = false;
      beforeMark = LETTER;
      before = BLANK;
      continue;
    }
    const kind = KINDS[unit] ?? OTHER;
    if (isWord(kind)) {
      if (word === 0 && (before === MARK || before === LEET_MARK) && isWord(beforeMark)) flags |= APART;
      word++;
    } else {
      if (word > 0) {
        alone = word === 1 ? alone + 1 : 0;
        if (alone >= 2) flags |= APART;
      }
      word = 0;
      beforeMark = before;
    }
    if (kind !== LETTER || before !== LETTER) flags |= pairFlags(before, kind, unit);
    if (isWord(kind) || unit === 43 || unit === 47 || unit === 45 || unit === 95 || unit === 61) {
      if (run > 0 && unit < 91) mixed = true;
      run++;
      if (run >= 8 && mixed) flags |= ENCODED;
    } else {
      run = 0;
      mixed = false;
    }
    before = kind;
  }
  return flags;
}
