/** Characters that steer instead of being seen: controls, directions, halves of pairs, and what no document may hold. */
const UNSEEN =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** The text with a mark in the place of each character that could hide or turn others. */
export function visible(text: string): string {
  return text.replace(UNSEEN, '\ufffd');
}

/** At most `most` characters, the middle left out: names tend to differ at both ends. */
export function shortened(text: string, most: number): string {
  const marks = Array.from(visible(text));
  if (marks.length <= most) return marks.join('');
  const head = Math.ceil((most - 1) * 0.6);
  return `${marks.slice(0, head).join('')}\u2026${marks.slice(marks.length - (most - 1 - head)).join('')}`;
}
