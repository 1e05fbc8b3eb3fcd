import { written, type Sheet } from './sheet.ts';

/** A sheet for a terminal: the table, then the gates. */
export function terminal({ title, columns, rows, gates }: Sheet): string {
  const cells = [
    ['', ...columns.map((column) => column.title)],
    ...rows.map(({ policy, figures }) => [
      policy,
      ...columns.map(({ key, digits }) => written(figures[key] ?? NaN, digits)),
    ]),
  ];
  const widths = (cells[0] ?? []).map((_, at) => Math.max(...cells.map((row) => (row[at] ?? '').length)));
  const lines = cells.map((row) =>
    row
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
  const kept = gates.map(
    ({ what, value, limit, isKept, digits }) =>
      `  ${isKept ? 'kept  ' : 'BROKEN'} ${what} ${written(limit, digits)}: ${written(value, digits)}`,
  );
  return ['', title, ...lines, ...kept, ''].join('\n');
}
