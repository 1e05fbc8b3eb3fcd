const TABLE = new Uint16Array(128);
for (let unit = 0; unit < 128; unit++) TABLE[unit] = unit;
for (const [from, to] of [
  '0o',
  '1i',
  '!i',
  '|i',
  'li',
  '3e',
  '4a',
  '@a',
  '5s',
  '$s',
  '7t',
  '+t',
  '8b',
  '9g',
  '6g',
  '2z',
]) {
  TABLE[(from ?? '').charCodeAt(0)] = (to ?? '').charCodeAt(0);
}

/** Is it a digit or mark that may stand for a letter? */
export function isLeet(unit: number): boolean {
  return unit < 128 && unit !== 108 && TABLE[unit] !== unit;
}

/**
 * Folded text with digits and marks as the letters that they stand for; `l` becomes `i`, because `1` stands for both.
 * Same length. Apply it to words and text alike.
 */
export function foldLeet(text: string): string {
  const units = new Uint16Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    units[i] = unit < 128 ? (TABLE[unit] ?? unit) : unit;
  }
  return Buffer.from(units.buffer, 0, text.length * 2).toString('utf16le');
}
