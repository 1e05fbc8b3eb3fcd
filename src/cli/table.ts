import { printable } from './printable.ts';

const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Rows as aligned columns under `header`; numbers lean to the right. */
export function table(header: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = rows.map((row) => row.map(printable));
  const widths = header.map((title, column) => Math.max(width(title), ...cells.map((row) => width(row[column] ?? ''))));
  const right = header.map((_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === 'number'));
  const line = (row: readonly string[]): string =>
    widths
      .map((size, column) => pad(row[column] ?? '', size, right[column] ?? false))
      .join('  ')
      .trimEnd();
  return [line(header), line(widths.map((size) => '-'.repeat(size))), ...cells.map(line)].join('\n');
}

function width(text: string): number {
  return [...segments.segment(text)].length;
}

function pad(text: string, size: number, right: boolean): string {
  const space = ' '.repeat(Math.max(0, size - width(text)));
  return right ? space + text : text + space;
}
