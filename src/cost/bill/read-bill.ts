import type { BillMapping } from './bill-mapping.ts';
import { parseDecimal } from './decimal-money.ts';
import { type DecimalMark, decimalMarkOf, separatorOf, withPoint } from './notation.ts';
import { BillError, type CsvRow, readCsv } from './read-csv.ts';

/** One day of one model as the provider bills it. */
export interface BillDay {
  /** `2026-01-31`. */
  readonly day: string;
  readonly model: string;
  readonly currency: string;
  input: number;
  /** null when the bill does not tell. */
  cached: number | null;
  output: number;
  /** Millionths of millionths; null when the bill has no costs. */
  pico: bigint | null;
  lines: number;
}

export interface Bill {
  readonly days: readonly BillDay[];
  /** Decimals of its amounts. */
  readonly decimals: number;
}

export interface ReadBillOptions {
  readonly mapping: BillMapping;
  /** Offset of the bill's days from UTC, for dates with a zone of their own. */
  readonly utcOffsetMinutes: number;
  readonly currency: string;
  /** How it writes fractions. Default: as its numbers show. */
  readonly decimal?: DecimalMark;
}

/** `1.000` is left out: it may be a thousand. */
const COUNT = /^(?:\d{1,15}|\d{1,3}(?:,\d{3}){1,4})(?:\.0{1,2})?$/;
/** In place of a day, in lines that add others up. */
const TOTAL = /^(?:grand |sub-?)?total|^sum(?:me)?$|^gesamt/i;
const DATE_ONLY = /^(\d{4}-\d\d-\d\d)(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?$/;
const WITH_ZONE = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;

/** Lines without a model and tokens, as exports have them for quiet days, are left out. Throws `BillError`. */
export function readBill(text: string, options: ReadBillOptions): Bill {
  const { mapping } = options;
  const separator = mapping.separator ?? separatorOf(text);
  const [head, ...rows] = readCsv(text, separator);
  if (head === undefined) throw new BillError('the bill is empty', 0);
  const columns = columnsOf(head, mapping);
  const mark = options.decimal ?? decimalMarkOf(numbersOf(rows, columns), separator);
  const days = new Map<string, BillDay>();
  let decimals = 0;
  for (const row of rows) {
    if (TOTAL.test(cellOf(row, columns.date))) continue;
    const input = sumOf(row, columns.inputTokens, mark);
    const output = sumOf(row, columns.outputTokens, mark);
    const model = cellOf(row, columns.model);
    if (model === '' && input === 0 && output === 0) continue;
    const key = {
      day: dayOf(cellOf(row, columns.date), row.line, options.utcOffsetMinutes),
      model,
      currency: (cellOf(row, columns.currency) || options.currency).toUpperCase(),
    };
    const name = JSON.stringify(key);
    const none = { cached: columns.cachedTokens.length === 0 ? null : 0, pico: columns.cost.length === 0 ? null : 0n };
    const day = days.get(name) ?? { ...key, input: 0, output: 0, lines: 0, ...none };
    days.set(name, day);
    day.input += input;
    day.output += output;
    day.lines += 1;
    if (day.cached !== null) day.cached += sumOf(row, columns.cachedTokens, mark);
    for (const column of day.pico === null ? [] : columns.cost) {
      const amount = parseDecimal(withPoint(row.cells[column]?.trim() || '0', mark));
      if (amount === null) throw new BillError(`not an amount: "${row.cells[column]}"`, row.line);
      day.pico = (day.pico ?? 0n) + amount.pico;
      decimals = Math.max(decimals, amount.decimals);
    }
  }
  return { days: [...days.values()], decimals };
}

type Columns = Readonly<Record<Exclude<keyof BillMapping, 'separator'>, readonly number[]>>;

function columnsOf({ cells }: CsvRow, mapping: BillMapping): Columns {
  const names = cells.map((cell) => cell.trim().toLowerCase());
  const find = (wanted: readonly string[]) =>
    wanted.map((name) => names.indexOf(name.toLowerCase())).filter((at) => at >= 0);
  const need = (what: string, wanted: readonly string[]) => {
    const found = find(wanted);
    if (found.length === 0)
      throw new BillError(
        `there is no column for ${what}: one of ${wanted.join(', ')} is needed, and the bill has ${shown(names)}`,
        0,
      );
    return found;
  };
  return {
    date: need('the date', mapping.date),
    model: need('the model', mapping.model),
    inputTokens: need('input tokens', mapping.inputTokens),
    outputTokens: need('output tokens', mapping.outputTokens),
    cachedTokens: find(mapping.cachedTokens),
    cost: find(mapping.cost),
    currency: find(mapping.currency),
  };
}

/** Everything that may have a fraction or groups of thousands. */
function numbersOf(rows: readonly CsvRow[], columns: Columns): readonly { text: string; line: number }[] {
  const places = [...columns.inputTokens, ...columns.cachedTokens, ...columns.outputTokens, ...columns.cost];
  return rows.flatMap(({ line, cells }) => places.map((at) => ({ text: cells[at] ?? '', line })));
}

function shown(names: readonly string[]): string {
  const list = names.slice(0, 20).join(', ').slice(0, 300);
  return list === '' ? 'none' : list;
}

function cellOf(row: CsvRow, columns: readonly number[]): string {
  return (row.cells[columns[0] ?? -1] ?? '').trim();
}

function sumOf(row: CsvRow, columns: readonly number[], mark: DecimalMark): number {
  let sum = 0;
  for (const column of columns) {
    const written = row.cells[column]?.trim() || '0';
    const text = withPoint(written, mark);
    if (!COUNT.test(text)) throw new BillError(`not a number of tokens: "${written}"`, row.line);
    sum += Number(text.replaceAll(',', ''));
  }
  return sum;
}

function dayOf(text: string, line: number, utcOffsetMinutes: number): string {
  const seconds = /^\d{9,11}$/.test(text) ? Number(text) : null;
  const plain = plainDay(text);
  const time =
    seconds !== null ? seconds * 1000 : Date.parse(plain ?? (WITH_ZONE.test(text) ? text.replace(' ', 'T') : ''));
  if (!Number.isFinite(time))
    throw new BillError(`not a date: "${text}" (2026-01-31, 31.01.2026, RFC 3339 or Unix seconds)`, line);
  // A date without a zone is one of the bill's own days.
  const day = new Date(plain === undefined ? time + utcOffsetMinutes * 60_000 : time).toISOString().slice(0, 10);
  if (plain !== undefined && plain !== day) throw new BillError(`there is no such day: "${text}"`, line);
  return day;
}

/** `2026-01-31` of a text that names a day in one way only. With slashes, a day may come first or a month: not guessed. */
function plainDay(text: string): string | undefined {
  const [, day, month, year] = /^(\d{1,2})\.(\d{1,2})\.(\d{4})$/.exec(text) ?? [];
  if (day !== undefined && month !== undefined) return `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  const slashed = /^\d{4}\/\d\d\/\d\d$/.test(text) ? text.replaceAll('/', '-') : text;
  return DATE_ONLY.exec(slashed)?.[1];
}
