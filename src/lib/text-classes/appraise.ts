import { type Mean, type QualityTable, shrunk, USUAL_STRENGTH } from './quality-table.ts';
import type { Sample } from './train.ts';

/** How good it is to choose models by class. Qualities are means over the samples, 0..1. */
export interface Appraisal {
  readonly samples: number;
  /** Share of the samples whose class is the one they were given; null where they have none. */
  readonly right: number | null;
  /** Always the one model that is best over all; null where no model was judged. */
  readonly bestSingle: { readonly model: string; readonly quality: number } | null;
  /** For each sample the model that is best in its class, by what other samples say. */
  readonly byClass: number | null;
  /** For each sample a model that was best for just that sample: nobody can do better. */
  readonly oracle: number | null;
}

/**
 * Judges classes by what they are for. `classes`: what each sample was put in. `isOwn`: the table was made of these very samples, so each is
 * judged by the table without it.
 */
export function appraise(
  samples: readonly Sample[],
  {
    classes,
    table,
    isOwn,
  }: { readonly classes: readonly string[]; readonly table: QualityTable; readonly isOwn: boolean },
): Appraisal {
  const labelled = samples.filter((sample) => sample.class !== null).length;
  const right = samples.filter((sample, at) => sample.class === classes[at]).length;
  const judged = samples.flatMap((sample, at) =>
    sample.quality.size === 0 ? [] : [{ sample, name: classes[at] ?? '' }],
  );
  let single = 0;
  let chosen = 0;
  let oracle = 0;
  const best = [...table].toSorted(([, a], [, b]) => b.mean - a.mean)[0]?.[0];
  for (const { sample, name } of judged) {
    const values = [...sample.quality.values()];
    const model = bestOf(sample, name, table, isOwn);
    single += best === undefined ? 0 : (sample.quality.get(best) ?? 0);
    chosen += sample.quality.get(model) ?? 0;
    oracle += Math.max(...values);
  }
  const mean = (sum: number): number | null => (judged.length === 0 ? null : sum / judged.length);
  const quality = mean(single);
  return {
    samples: samples.length,
    right: labelled === 0 ? null : right / labelled,
    bestSingle: quality === null || best === undefined ? null : { model: best, quality },
    byClass: mean(chosen),
    oracle: mean(oracle),
  };
}

function bestOf(sample: Sample, name: string, table: QualityTable, isOwn: boolean): string {
  let best = '';
  let most = -Infinity;
  for (const [model, own] of sample.quality) {
    const entry = table.get(model);
    if (entry === undefined) continue;
    const inClass = entry.classes.get(name) ?? { mean: 0, n: 0 };
    const quality = isOwn
      ? shrunk(without(inClass, own), without(entry, own).mean, USUAL_STRENGTH)
      : shrunk(inClass, entry.mean);
    if (quality > most) {
      most = quality;
      best = model;
    }
  }
  return best;
}

/** The mean of the others. */
function without({ mean, n }: Mean, own: number): Mean {
  return n <= 1 ? { mean: 0, n: 0 } : { mean: (mean * n - own) / (n - 1), n: n - 1 };
}
