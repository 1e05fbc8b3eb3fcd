const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  shy: '',
  zwnj: '',
  zwj: '',
  ensp: ' ',
  emsp: ' ',
  thinsp: ' ',
  Tab: ' ',
  NewLine: ' ',
  period: '.',
  comma: ',',
  lowbar: '_',
  hyphen: '-',
  sol: '/',
  ZeroWidthSpace: '',
};
/** Bounded repetitions only: each match is short and begins with its own mark, so that the whole is linear. */
const ESCAPE =
  /(?:%[0-9a-f]{2}){1,512}|&#(?:x[0-9a-f]{1,6}|\d{1,7});?|&[a-z]{2,14};|\\u\{[0-9a-f]{1,6}\}|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}/gi;

function fromCodePoint(codePoint: number): string {
  return codePoint <= 0x10ffff ? String.fromCodePoint(codePoint) : '';
}

function decode(escape: string): string {
  const second = escape[1] ?? '';
  if (escape.startsWith('%')) return Buffer.from(escape.replaceAll('%', ''), 'hex').toString('utf8');
  if (escape.startsWith('\\')) return fromCodePoint(Number.parseInt(escape.replaceAll(/[\\ux{}]/gi, ''), 16));
  if (second !== '#') return NAMED[escape.slice(1, -1)] ?? escape;
  const digits = escape.replaceAll(/[&#;]/g, '');
  return fromCodePoint(/^x/i.test(digits) ? Number.parseInt(digits.slice(1), 16) : Number.parseInt(digits, 10));
}

/**
 * `text` with its percent-encoding, HTML character references and `\u` and `\x` escapes decoded, up to `rounds` times over
 * for what was encoded again; null when there is none. Linear; never longer than the text.
 */
export function decodeEscapes(text: string, rounds = 2): string | null {
  let current = text;
  for (let round = 0; round < rounds; round++) {
    const next = current.replace(ESCAPE, decode);
    if (next === current) break;
    current = next;
  }
  return current === text ? null : current;
}
