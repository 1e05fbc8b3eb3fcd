import type { LedgerEntry } from '../../core/ports/quota-store.ts';
import { formatMicroUnits } from '../../core/money.ts';
import { type Cell, LEDGER_COLUMNS } from '../ledger-columns.ts';

/** One JSON object a line, UTF-8; times as RFC 3339. `cost` is `cost_micro` as a decimal in a text, for it is exact. */
export const jsonLines = {
  head: (): null => null,
  rows: (entries: readonly LedgerEntry[]): Uint8Array => Buffer.from(entries.map(line).join('')),
  end: (): null => null,
};

function line(entry: LedgerEntry): string {
  const row: Record<string, Cell> = {};
  for (const { name, type, of } of LEDGER_COLUMNS) {
    const value = of(entry);
    row[name] = type === 'time' ? new Date(Number(value)).toISOString() : value;
  }
  row['cost'] = formatMicroUnits(entry.event.cost);
  return `${JSON.stringify(row)}\n`;
}
