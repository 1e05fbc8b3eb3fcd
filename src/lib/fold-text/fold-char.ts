import { enclosedLetter, lookalike } from './homoglyphs.ts';

/**
 * Invisible to a reader: format characters (zero width, soft hyphen, bidi, tags), variation selectors, fillers, controls,
 * and marks set over or through Latin, Greek, Cyrillic, Arabic and Hebrew letters. Vowel signs of Indic scripts stay:
 * words differ by them.
 */
const INVISIBLE =
  // oxlint-disable-next-line no-control-regex, no-misleading-character-class -- single code points are meant, controls too
  /[\p{Cf}\p{Default_Ignorable_Code_Point}\p{Variation_Selector}\u0000-\u0008\u000e-\u001f\u007f-\u0084\u0086-\u009f\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f\ufffc]/gu;
const SPACE = /[\s\u0085\u00a0\u2800]/u;

function toLookalikes(text: string): string {
  let out = '';
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    const like = lookalike(unit);
    out += like === 0 ? (text[i] ?? '') : String.fromCharCode(like);
  }
  return out;
}

/**
 * One code point as it counts for matching: compatibility form, small, without marks, `' '` for any space, `''` for the
 * invisible. With `homoglyphs` letters of other scripts that look Latin become Latin. At most 18 units.
 */
export function foldChar(codePoint: number, homoglyphs: boolean): string {
  const enclosed = enclosedLetter(codePoint);
  if (enclosed !== 0) return String.fromCharCode(enclosed);
  const char = String.fromCodePoint(codePoint);
  if (SPACE.test(char)) return ' ';
  const capital = homoglyphs && codePoint >= 0x391 && codePoint <= 0x3a9 ? lookalike(codePoint) : 0;
  if (capital !== 0) return String.fromCharCode(capital);
  const plain = char
    .normalize('NFKD')
    .toLowerCase()
    .normalize('NFKD')
    .replace(INVISIBLE, '')
    .replaceAll('ß', 'ss')
    .replaceAll('ς', 'σ')
    .replaceAll('\u2044', '/')
    .normalize('NFC');
  return homoglyphs ? toLookalikes(plain) : plain;
}
