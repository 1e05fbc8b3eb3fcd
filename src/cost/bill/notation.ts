import { BillError } from './read-csv.ts';

/** How a bill writes fractions. */
export type DecimalMark = 'point' | 'comma';

const SEPARATORS = [',', ';', '\t'] as const;
/** `1.234,5`, `0,50`, `1,2345`, `1.234.567`: nobody writes these where the point marks fractions. */
const COMMA = /^[^,]*\.\d{3},\d*$|^[^.,]*\d,(?:\d{1,2}|\d{4,})$|\.\d{3}\.\d{3}/;
/** `1,234.5`, `0.50`, `1.2345`, `1,234,567`. */
const POINT = /^[^.]*,\d{3}\.\d*$|^[^.,]*\d\.(?:\d{1,2}|\d{4,})$|,\d{3},\d{3}/;
/** `1,234`: a thousand, or one and a bit. */
const EITHER = /^[^.,]*\d,\d{3}$/;

/** The character between the cells of the first line: the commonest of comma, semicolon and tab outside quotes. */
export function separatorOf(text: string): string {
  const [head = ''] = text.replaceAll(/"(?:[^"]|"")*"/g, '').split(/[\r\n]/, 1);
  const counts = SEPARATORS.map((separator) => head.split(separator).length);
  return SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ',';
}

/**
 * What the numbers of a bill say of its fractions. `separator`: bills whose cells are not parted by commas may well write decimal
 * commas; then a number that can be read in two ways is not guessed. Throws `BillError` for that, and for both in one bill.
 */
export function decimalMarkOf(
  numbers: readonly { readonly text: string; readonly line: number }[],
  separator: string,
): DecimalMark {
  const plain = numbers.map(({ text, line }) => ({ text: text.trim().replaceAll(/[^\d.,]/g, ''), line }));
  const comma = plain.find(({ text }) => COMMA.test(text));
  const point = plain.find(({ text }) => POINT.test(text));
  if (comma !== undefined && point !== undefined)
    throw new BillError(`"${comma.text}" has a decimal comma, and "${point.text}" a decimal point`, comma.line);
  if (comma !== undefined) return 'comma';
  const either = point === undefined && separator !== ',' ? plain.find(({ text }) => EITHER.test(text)) : undefined;
  if (either !== undefined)
    throw new BillError(
      `"${either.text}" can be read in two ways: say --decimal point or --decimal comma`,
      either.line,
    );
  return 'point';
}

/** A number as it would be written with a decimal point and without groups of thousands. */
export function withPoint(text: string, mark: DecimalMark): string {
  if (mark === 'point') return text.trim();
  const bare = text.trim();
  // Points must stand where groups of thousands begin.
  if (!/^[^.]*$|\d{1,3}(?:\.\d{3})+(?!\d)/.test(bare)) return 'not a number';
  return bare.replaceAll('.', '').replace(',', '.');
}
