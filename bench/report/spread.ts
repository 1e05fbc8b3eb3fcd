import type { Results, Spread } from './results.ts';

/** Median and extremes of what was measured, to four digits after the point; zeros of nothing. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((one, other) => one - other);
  return { median: rounded(medianOf(sorted)), min: rounded(sorted[0] ?? 0), max: rounded(sorted.at(-1) ?? 0) };
}

export function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}

/** The medians of figures by what they compare with: `GROUP.NAME` becomes an entry of an entry. */
export function ratiosOf(spread: Results['spread']): Results['ratios'] {
  const ratios: Record<string, Record<string, number>> = {};
  for (const [name, { median }] of Object.entries(spread)) {
    const [group = '', word = ''] = name.split('.');
    ratios[group] = { ...ratios[group], [word]: median };
  }
  return ratios;
}

function medianOf(sorted: readonly number[]): number {
  const middle = Math.floor(sorted.length / 2);
  const high = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? high : (high + (sorted[middle - 1] ?? high)) / 2;
}
