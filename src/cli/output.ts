import { printable, UNSAFE } from './printable.ts';
import { table } from './table.ts';
import type { Terminal } from './terminal.ts';

export type Format = 'table' | 'json' | 'csv';
export type Cell = string | number | boolean | null;

/** A column of a report. */
export interface Column<R> {
  /** Head in tables. */
  readonly title: string;
  /** Head in CSV; null = for eyes only. */
  readonly name: string | null;
  readonly value: (row: R) => Cell;
}

/** A list as a table for eyes, as JSON (`body`, as the API has it) or as CSV. */
export function showRows<R>(
  { out }: Pick<Terminal, 'out'>,
  {
    format,
    columns,
    rows,
    body,
  }: { format: Format; columns: readonly Column<R>[]; rows: readonly R[]; body?: unknown },
): void {
  out(renderRows({ format, columns, rows, body }));
}

/** The same as text that ends its last line. */
export function renderRows<R>({
  format,
  columns,
  rows,
  body,
}: {
  readonly format: Format;
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[];
  /** Default: a list of the rows. */
  readonly body?: unknown;
}): string {
  switch (format) {
    case 'json':
      return jsonText(body ?? { object: 'list', data: rows });
    case 'csv': {
      const named = columns.filter(({ name }) => name !== null);
      const head = named.map(({ name }) => name ?? '');
      return csvText([head, ...rows.map((row) => named.map(({ value }) => value(row)))]);
    }
    case 'table': {
      const cells = rows.map((row) => columns.map(({ value }) => value(row)));
      const head = columns.map(({ title }) => title);
      return `${table(head, cells)}\n`;
    }
  }
}

/** One record: a line a field, JSON, or CSV of one row. */
export function showRecord<R>(
  { out }: Pick<Terminal, 'out'>,
  { format, columns, row, body }: { format: Format; columns: readonly Column<R>[]; row: R; body?: unknown },
): void {
  if (format !== 'table') {
    showRows({ out }, { format, columns, rows: [row], body: body ?? row });
    return;
  }
  const width = Math.max(...columns.map(({ title }) => title.length));
  const lines = columns.map(({ title, value }) => `${title.padEnd(width)}  ${printable(value(row))}`.trimEnd());
  out(`${lines.join('\n')}\n`);
}

/** JSON whose strings cannot steer a terminal and mean the same all the same. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  return `${text.replace(UNSAFE, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`;
}

/** CSV of RFC 4180. A text that a spreadsheet would take for a formula gets a `'` in front (OWASP, CSV injection). */
function csvText(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(csvCell).join(',')}\r\n`).join('');
}

function csvCell(value: Cell): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  const safe = /^[=+@\t\r]|^-(?!\d+(?:\.\d+)?$)/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const BAR = 20;

/** `[########............]  40 %`; what is over is full, and of nothing everything is used. */
export function bar(used: number, limit: number): string {
  const share = limit > 0 ? used / limit : 1;
  return `${gauge(used, limit)} ${String(Math.floor(share * 100)).padStart(3)} %`;
}

/** The same without the number. */
export function gauge(part: number, whole: number): string {
  const share = whole > 0 ? part / whole : 1;
  const full = Math.min(BAR, Math.max(0, Math.floor(share * BAR)));
  return `[${'#'.repeat(full)}${'.'.repeat(BAR - full)}]`;
}
