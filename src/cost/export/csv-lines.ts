import type { LedgerEntry } from '../../core/ports/quota-store.ts';
import { formatMicroUnits } from '../../core/money.ts';
import { type Cell, LEDGER_COLUMNS } from '../ledger-columns.ts';

const END = '\r\n';
/** What a spreadsheet would take for a formula: a client chooses some of these texts (OWASP, CSV injection). */
const FORMULA = /^[=+\-@\t\r]/;

/** CSV of RFC 4180 with a header line, UTF-8. `cost` is `cost_micro` as a decimal. */
export const csvLines = {
  head: (): Uint8Array => Buffer.from([...LEDGER_COLUMNS.map(({ name }) => name), 'cost'].join(',') + END),
  rows: (entries: readonly LedgerEntry[]): Uint8Array => Buffer.from(entries.map(line).join('')),
  end: (): null => null,
};

function line(entry: LedgerEntry): string {
  const cells = LEDGER_COLUMNS.map(({ type, of }) => field(of(entry), type === 'time'));
  return [...cells, formatMicroUnits(entry.event.cost)].join(',') + END;
}

function field(value: Cell, isTime: boolean): string {
  if (value === null) return '';
  if (typeof value !== 'string') return isTime ? new Date(Number(value)).toISOString() : String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
