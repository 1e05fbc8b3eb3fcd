/** A mean of so many observations. */
export interface Mean {
  readonly mean: number;
  readonly n: number;
}

/** How good models are, each over all and by class. */
export type QualityTable = ReadonlyMap<string, Mean & { readonly classes: ReadonlyMap<string, Mean> }>;

/** What the mean over all classes is worth against the observations of one class, in observations. */
export const USUAL_STRENGTH = 20;

/** The mean of a class, drawn to the mean over all the more, the fewer observations it rests on: n = 0 is the mean over all. */
export function shrunk({ mean, n }: Mean, over: number, strength: number = USUAL_STRENGTH): number {
  return n + strength === 0 ? over : (n * mean + strength * over) / (n + strength);
}

/** One answer of each model: of which class the question was, and how good each was, 0..1. */
export interface Observed {
  readonly class: string;
  readonly quality: ReadonlyMap<string, number>;
}

/** Means by model and class of what was observed. */
export function tabulate(observed: readonly Observed[]): QualityTable {
  interface Sum {
    sum: number;
    n: number;
  }
  const sums = new Map<string, { readonly all: Sum; readonly classes: Map<string, Sum> }>();
  for (const { class: name, quality } of observed)
    for (const [model, value] of quality) {
      const of = sums.get(model) ?? { all: { sum: 0, n: 0 }, classes: new Map<string, Sum>() };
      const inClass = of.classes.get(name) ?? { sum: 0, n: 0 };
      for (const sum of [of.all, inClass]) {
        sum.sum += value;
        sum.n += 1;
      }
      of.classes.set(name, inClass);
      sums.set(model, of);
    }
  const meanOf = ({ sum, n }: Sum): Mean => ({ mean: sum / n, n });
  return new Map(
    [...sums].map(([model, { all, classes }]) => [
      model,
      { ...meanOf(all), classes: new Map([...classes].map(([name, sum]) => [name, meanOf(sum)])) },
    ]),
  );
}
