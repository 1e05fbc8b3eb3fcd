import { FeatureReader, FIGURES } from './features.ts';

/** Features of many texts, one after another: row `r` has `slots[starts[r]..starts[r + 1])`. */
export interface Rows {
  readonly bits: number;
  readonly count: number;
  readonly starts: Int32Array;
  readonly slots: Int32Array;
  readonly values: Float64Array;
  readonly figures: Float64Array;
}

/** Reads texts into rows. */
export function rowsOf(texts: readonly string[], bits: number): Rows {
  const reader = new FeatureReader(bits);
  const starts = new Int32Array(texts.length + 1);
  const values = new Float64Array(texts.length);
  const figures = new Float64Array(texts.length * FIGURES.length);
  const parts: Int32Array[] = [];
  for (const [row, text] of texts.entries()) {
    const read = reader.read(text);
    parts.push(read.slots.slice(0, read.count));
    starts[row + 1] = (starts[row] as number) + read.count;
    values[row] = read.value;
    figures.set(read.figures, row * FIGURES.length);
  }
  const slots = new Int32Array(starts[texts.length] as number);
  for (const [row, part] of parts.entries()) slots.set(part, starts[row]);
  return { bits, count: texts.length, starts, slots, values, figures };
}

/** What a row makes of weights, without a constant. */
export function dotRow(
  { bits, starts, slots, values, figures }: Rows,
  row: number,
  weights: ArrayLike<number>,
): number {
  let sum = 0;
  const end = starts[row + 1] as number;
  for (let at = starts[row] as number; at < end; at += 1) sum += weights[slots[at] as number] as number;
  sum *= values[row] as number;
  const base = 2 ** bits;
  for (let at = 0; at < FIGURES.length; at += 1)
    sum += (figures[row * FIGURES.length + at] as number) * (weights[base + at] as number);
  return sum;
}

function addRow({ bits, starts, slots, values, figures }: Rows, row: number, factor: number, into: Float64Array): void {
  const end = starts[row + 1] as number;
  const step = factor * (values[row] as number);
  for (let at = starts[row] as number; at < end; at += 1) {
    const slot = slots[at] as number;
    into[slot] = (into[slot] as number) + step;
  }
  const base = 2 ** bits;
  for (let at = 0; at < FIGURES.length; at += 1)
    into[base + at] = (into[base + at] as number) + factor * (figures[row * FIGURES.length + at] as number);
}

export interface RidgeOptions {
  readonly rows: Rows;
  /** Rows to learn from. */
  readonly from: readonly number[];
  /** What each row should give; as many as there are rows. */
  readonly wanted: ArrayLike<number>;
  /** What a weight of 1 costs, in squared errors. */
  readonly penalty: number;
  /** Steps of conjugate gradients at the most. */
  readonly steps?: number;
}

export interface Ridge {
  readonly weights: Float64Array;
  readonly bias: number;
}

/**
 * Least squares with a penalty on large weights, by conjugate gradients: no randomness, so the same rows give the same weights. The
 * constant is the mean of what is wanted.
 */
export function fitRidge({ rows, from, wanted, penalty, steps = 30 }: RidgeOptions): Ridge {
  const size = 2 ** rows.bits + FIGURES.length;
  let bias = 0;
  for (const row of from) bias += wanted[row] as number;
  bias = from.length === 0 ? 0 : bias / from.length;
  const weights = new Float64Array(size);
  const rest = new Float64Array(size);
  for (const row of from) addRow(rows, row, (wanted[row] as number) - bias, rest);
  const way = Float64Array.from(rest);
  const image = new Float64Array(size);
  let left = squared(rest);
  const enough = left * 1e-10;
  for (let step = 0; step < steps && left > enough; step += 1) {
    for (let at = 0; at < size; at += 1) image[at] = penalty * (way[at] as number);
    for (const row of from) addRow(rows, row, dotRow(rows, row, way), image);
    let across = 0;
    for (let at = 0; at < size; at += 1) across += (way[at] as number) * (image[at] as number);
    const far = left / across;
    for (let at = 0; at < size; at += 1) {
      weights[at] = (weights[at] as number) + far * (way[at] as number);
      rest[at] = (rest[at] as number) - far * (image[at] as number);
    }
    const now = squared(rest);
    const turn = now / left;
    left = now;
    for (let at = 0; at < size; at += 1) way[at] = (rest[at] as number) + turn * (way[at] as number);
  }
  return { weights, bias };
}

function squared(values: Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value * value;
  return sum;
}
