/** A bill that cannot be read. `line` counts from 1; 0 stands for the bill as a whole. */
export class BillError extends Error {
  override readonly name = 'BillError';
  readonly line: number;

  constructor(message: string, line: number) {
    super(line === 0 ? message : `line ${line}: ${message}`);
    this.line = line;
  }
}

export interface CsvRow {
  /** Where it begins, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

/**
 * CSV as RFC 4180 has it, with a byte order mark and bare line feeds allowed and empty lines left out. Throws `BillError` for a
 * quote that is not closed, or that stands inside a plain cell.
 */
export function readCsv(text: string, separator = ','): CsvRow[] {
  const rows: CsvRow[] = [];
  let at = text.startsWith('\ufeff') ? 1 : 0;
  let line = 1;
  while (at < text.length) {
    const cells: string[] = [];
    const begins = line;
    for (let more = true; more;) {
      const cell = text[at] === '"' ? quotedCell(text, at, line) : plainCell(text, at, separator, line);
      cells.push(cell.value);
      line += cell.lines;
      at = cell.next;
      more = text[at] === separator;
      if (more) at += 1;
    }
    const end = lineEnd(text, at);
    if (end < 0) throw new BillError('text after a closing quote', line);
    at = end;
    line += 1;
    if (cells.length > 1 || cells[0] !== '') rows.push({ line: begins, cells });
  }
  return rows;
}

interface Cell {
  readonly value: string;
  readonly next: number;
  /** Line ends inside it. */
  readonly lines: number;
}

function plainCell(text: string, start: number, separator: string, line: number): Cell {
  let at = start;
  for (; at < text.length; at += 1) {
    const char = text[at];
    if (char === separator || char === '\n' || char === '\r') break;
    if (char === '"') throw new BillError('a quote inside a cell that does not begin with one', line);
  }
  return { value: text.slice(start, at), next: at, lines: 0 };
}

function quotedCell(text: string, start: number, line: number): Cell {
  for (let at = start + 1; ;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) throw new BillError('a quote is not closed', line);
    if (text[quote + 1] !== '"') {
      const inside = text.slice(start + 1, quote);
      return { value: inside.replaceAll('""', '"'), next: quote + 1, lines: inside.split('\n').length - 1 };
    }
    at = quote + 2;
  }
}

/** Where the next line begins; -1 when this is no end of a line. */
function lineEnd(text: string, at: number): number {
  if (at >= text.length) return at;
  if (text.startsWith('\r\n', at)) return at + 2;
  return text[at] === '\n' || text[at] === '\r' ? at + 1 : -1;
}
