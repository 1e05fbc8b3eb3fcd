const HIGH = 0xdb40;
const LOW_FIRST = 0xdc20;
const LOW_LAST = 0xdc7e;

/** The ASCII text written in tag characters (U+E0020 to U+E007E) of `text`, runs parted by a space; null when there is none. */
export function decodeTags(text: string): string | null {
  let out = '';
  let last = -1;
  for (let at = text.indexOf('\udb40'); at >= 0 && at + 1 < text.length; at = text.indexOf('\udb40', at + 1)) {
    const low = text.charCodeAt(at + 1);
    if (text.charCodeAt(at) !== HIGH || low < LOW_FIRST || low > LOW_LAST) continue;
    if (last >= 0 && at !== last) out += ' ';
    out += String.fromCharCode(low - 0xdc00);
    last = at + 2;
  }
  return out === '' ? null : out;
}
