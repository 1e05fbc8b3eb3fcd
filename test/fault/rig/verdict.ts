import assert from 'node:assert/strict';

/** One promise, measured. */
export interface Verdict {
  /** `P06 fails closed`. */
  readonly promise: string;
  readonly isKept: boolean;
  /** What was measured, beside what was promised. */
  readonly figures: string;
  /** The same by name, for programs. */
  readonly values: Readonly<Record<string, number | string>>;
}

/** A measured value and whether it is what was promised. */
export interface Figure {
  readonly name: string;
  readonly value: number | string;
  readonly text: string;
  readonly isGood: boolean;
}

/** `name value (allowed: …)`. */
export function atMost(name: string, value: number, most: number, unit = ''): Figure {
  return { name, value, text: `${name} ${round(value)}${unit} (at most ${most}${unit})`, isGood: value <= most };
}

export function exactly(name: string, value: number, wanted: number): Figure {
  return {
    name,
    value,
    text: `${name} ${round(value)}${value === wanted ? '' : ` (must be ${wanted})`}`,
    isGood: value === wanted,
  };
}

export function atLeast(name: string, value: number, least: number): Figure {
  return { name, value, text: `${name} ${round(value)} (at least ${least})`, isGood: value >= least };
}

/** Something that is told and not judged. */
export function told(name: string, value: number | string): Figure {
  return { name, value, text: `${name} ${typeof value === 'number' ? round(value) : value}`, isGood: true };
}

/** Something that is no number, and whether it is as promised. */
export function judged(name: string, value: string, isGood: boolean): Figure {
  return { name, value, text: `${name} ${value}`, isGood };
}

export function verdict(promise: string, figures: readonly Figure[]): Verdict {
  return {
    promise,
    isKept: figures.every(({ isGood }) => isGood),
    figures: figures.map(({ text, isGood }) => (isGood ? text : `BROKEN: ${text}`)).join(', '),
    values: Object.fromEntries(
      figures.map(({ name, value }) => [name, typeof value === 'number' ? round(value) : value]),
    ),
  };
}

/** Fails with the figures of every promise that was not kept. */
export function assertKept(verdicts: readonly Verdict[]): void {
  const broken = verdicts.filter(({ isKept }) => !isKept);
  assert.deepEqual(
    broken.map(({ promise, figures }) => `${promise}: ${figures}`),
    [],
  );
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
