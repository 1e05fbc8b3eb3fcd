import type { Answer, Pick } from './simulate.ts';

/** The value below which the share `part` of all values lies (nearest rank); NaN for none. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? NaN;
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Standard deviation of a sample. */
export function deviation(values: readonly number[]): number {
  const middle = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1));
}

/** Seconds from the arrival to the first token, of all requests that got one. */
export function ttfts(answers: readonly Answer[]): readonly number[] {
  return answers.flatMap(({ ttftMs }) => (ttftMs === null ? [] : [ttftMs / 1000]));
}

/** Seconds from the arrival to the last token or the last failure. */
export function totals(answers: readonly Answer[]): readonly number[] {
  return answers.map(({ totalMs }) => totalMs / 1000);
}

/** First picks of each second, of all hosts and of one. */
export interface Shares {
  /** Which part of the first picks in [from, to) seconds went to the host; NaN when there were none. */
  readonly between: (from: number, to: number) => number;
}

export function sharesOf(picks: readonly Pick[], host: number): Shares {
  const all: number[] = [0];
  const own: number[] = [0];
  const first = picks.filter(({ number }) => number === 1);
  let at = 0;
  for (let second = 0; at < first.length; second += 1) {
    let [countAll, countOwn] = [all[second] ?? 0, own[second] ?? 0];
    for (; (first[at]?.at ?? Infinity) < (second + 1) * 1000; at += 1) {
      countAll += 1;
      if (first[at]?.host === host) countOwn += 1;
    }
    all.push(countAll);
    own.push(countOwn);
  }
  const until = (sums: readonly number[], second: number): number => sums[Math.min(second, sums.length - 1)] ?? 0;
  return {
    between: (from, to) => (until(own, to) - until(own, from)) / (until(all, to) - until(all, from)),
  };
}

/** The largest against the mean: 1 when all do alike. */
export function maxOverMean(values: readonly number[]): number {
  return Math.max(...values) / mean(values);
}
