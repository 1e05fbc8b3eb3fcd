/** A figure of a policy: what its column says, and how it is written. */
export interface Column {
  readonly key: string;
  readonly title: string;
  readonly digits: number;
}

export interface Row {
  readonly policy: string;
  readonly figures: Readonly<Record<string, number>>;
}

/** A promise that our policy has to keep. */
export interface Gate {
  readonly what: string;
  readonly value: number;
  readonly limit: number;
  readonly isKept: boolean;
  readonly digits: number;
}

export interface Line {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** Lines to be drawn; x and y begin at 0 and end at the given values. */
export interface Plot {
  readonly file: string;
  readonly title: string;
  readonly x: { readonly title: string; readonly most: number };
  readonly y: { readonly title: string; readonly most: number };
  readonly lines: readonly Line[];
  /** Spans of x that are marked, such as the time of a fault. */
  readonly marked: readonly (readonly [from: number, to: number])[];
}

/** One question, answered for every policy. */
export interface Sheet {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly gates: readonly Gate[];
  readonly plots: readonly Plot[];
}

export const atMost = (what: string, value: number, limit: number, digits = 2): Gate => ({
  what: `${what} ≤`,
  value,
  limit,
  isKept: value <= limit,
  digits,
});

export const atLeast = (what: string, value: number, limit: number, digits = 2): Gate => ({
  what: `${what} ≥`,
  value,
  limit,
  isKept: value >= limit,
  digits,
});

/** A figure of a policy in a sheet; NaN when there is no such row or figure, which keeps no gate. */
export function figureOf(rows: readonly Row[], policy: string, key: string): number {
  return rows.find((row) => row.policy === policy)?.figures[key] ?? NaN;
}

/** A figure as it stands in tables. */
export function written(value: number, digits: number): string {
  return Number.isFinite(value) ? value.toFixed(digits) : '–';
}
