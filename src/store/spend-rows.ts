import type { MicroUnits } from '../core/money.ts';
import type { SpendDimension, SpendRow } from '../core/ports/spend-reader.ts';
import { MAX_ROWS } from './spend-entry.ts';
import type { SpendEntry, Sums } from './spend-entry.ts';

/** The sums of one hour or day, by the row's name (a JSON array). */
export type SpendRows = Map<string, Sums>;

const NOTHING: Sums = [0, 0, 0, 0, 0];

/** Adds an entry up (`sign` 1) or takes it back (-1), in the same way as `rollup.lua`. */
export function addEntry(rows: SpendRows, { sums, head, tail }: SpendEntry, sign: 1 | -1): void {
  const own = `[${head},${tail}]`;
  const name = rows.has(own) || rows.size < MAX_ROWS ? own : `["*","*","*","*",${tail}]`;
  const change = sums.map((value) => (value === 0 ? 0 : sign * value)) as unknown as Sums;
  rows.set(name, addSums(rows.get(name) ?? NOTHING, change));
}

/** Stands still at ±(2^53 - 1). */
export function addSums(a: Sums, b: Sums): Sums {
  return [add(a[0], b[0]), add(a[1], b[1]), add(a[2], b[2]), add(a[3], b[3]), add(a[4], b[4])];
}

/** A row that was taken back to nothing is as good as none. */
export function isNothing(sums: Sums | undefined): boolean {
  return sums === undefined || sums.every((value) => value === 0);
}

/** A row's name read back. `tenant` is not part of it: a tenant's sums lie by themselves. */
export function dimensionsOf(
  name: string,
  tenant: string,
): { readonly keys: Readonly<Record<SpendDimension, string>>; readonly currency: string } {
  const parts = JSON.parse(name) as readonly string[];
  const [model = '', backend = '', line = '', type = '', payer = '', currency = ''] = parts;
  return {
    keys: { model, backend, business_line: line, request_type: type, tenant, charged_to: payer },
    currency,
  };
}

export function spendRow(at: number, keys: SpendRow['keys'], currency: string, sums: Sums): SpendRow {
  const [requests, promptTokens, cachedTokens, completionTokens, cost] = sums;
  return { at, keys, currency, requests, promptTokens, cachedTokens, completionTokens, cost: cost as MicroUnits };
}

function add(a: number, b: number): number {
  return Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, a + b));
}
