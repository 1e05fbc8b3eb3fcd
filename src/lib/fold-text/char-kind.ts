/** Not part of a word: space, punctuation, symbols. */
export const GAP = 0;
/** A letter or digit of a script that sets words apart by spaces. */
export const WORD = 1;
/** A letter of a script that writes words without gaps between them (Han, kana, Hangul, Thai, …). */
export const DENSE = 2;

const DENSE_LETTER =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\u30fc]/u;
const WORD_LETTER = /[\p{L}\p{N}\p{M}]/u;
const UNKNOWN = 255;
const KINDS = new Uint8Array(65_536).fill(UNKNOWN);

function learn(unit: number): number {
  const char = String.fromCharCode(unit);
  // Letters beyond the basic plane are nearly all Han; symbols there (emoji) are gaps.
  const kind =
    unit >= 0xd840 && unit <= 0xd888 ? DENSE : DENSE_LETTER.test(char) ? DENSE : WORD_LETTER.test(char) ? WORD : GAP;
  KINDS[unit] = kind;
  return kind;
}

/** What a UTF-16 unit is for the sake of word boundaries. */
export function charKind(unit: number): number {
  const kind = KINDS[unit] ?? GAP;
  return kind === UNKNOWN ? learn(unit) : kind;
}
