import { FIGURES } from './features.ts';
import { dotRow, fitRidge, rowsOf, type Rows } from './fit-ridge.ts';
import { foldsOf } from './folds.ts';
import { seededRandom } from '../hash32/seeded-random.ts';
import { kMeans } from './k-means.ts';
import { USUAL_TRAINING } from './limits.ts';
import { nearest, type TextClass, type TextModel } from './linear.ts';
import { tabulate, type QualityTable } from './quality-table.ts';

/** One text to learn from. */
export interface Sample {
  readonly text: string;
  /** The class that it is of; null = not known. Either all samples have one, or none. */
  readonly class: string | null;
  /** How good the answers of models were, 0..1, by model; may be empty where classes are given. */
  readonly quality: ReadonlyMap<string, number>;
  /** Samples of one group (copies of one another, say) are never both learned from and tested on. Null = alone. */
  readonly group?: string | null;
}

export interface TrainOptions {
  /** The table of words has `2 ** bits` slots. */
  readonly bits?: number;
  /** What large weights cost. */
  readonly penalty?: number;
  /** Most classes that are made of outcomes; where classes are given it has no effect. */
  readonly classes?: number;
  readonly folds?: number;
  readonly seed?: number;
}

/** A model, and what is known of it from samples that it had not learned from. */
export interface Trained {
  readonly model: TextModel;
  /** Which class each sample is put in by a model that had not seen it, or its like. */
  readonly predicted: readonly string[];
  readonly table: QualityTable;
}

/** What cannot be learned from, in words. */
export class TrainError extends Error {}

/**
 * Learns classes from texts. Where samples have classes, those are learned. Else classes are made of the outcomes: texts for which the same
 * models are likely to be better or worse than the others. Quality by class comes from predictions for samples not learned from, so
 * that it holds for texts to come. Deterministic. Throws `TrainError`.
 */
export function trainTextModel(samples: readonly Sample[], options: TrainOptions = {}): Trained {
  const { bits, penalty, classes: count, folds, seed } = { ...USUAL_TRAINING, ...options };
  const lesson = lessonOf(samples);
  const rows = rowsOf(
    samples.map(({ text }) => text),
    bits,
  );
  const fold = foldsOf(
    samples.map(({ group }, row) => group ?? row),
    { folds, seed },
  );
  const outputs = crossFit(rows, lesson, fold, { folds, penalty });
  const classes = lesson.names === null ? bands(outputs, lesson, count, seed) : lesson.names.map(planeOf);
  const predicted = samples.map((_, row) => {
    const from = row * lesson.width;
    return (classes[nearest(outputs.subarray(from, from + lesson.width), classes).at] as TextClass).name;
  });
  const table = tabulate(samples.map(({ quality }, row) => ({ class: predicted[row] as string, quality })));
  const every = Array.from(samples, (_, row) => row);
  return { model: { bits, classes, ...fitAll(rows, every, lesson, penalty) }, predicted, table };
}

/** What is to be learned: `wanted[output][row]`. */
interface Lesson {
  readonly width: number;
  readonly wanted: readonly Float64Array[];
  /** Names of the classes that are given; null where they are made of outcomes. */
  readonly names: readonly string[] | null;
}

function lessonOf(samples: readonly Sample[]): Lesson {
  if (samples.length === 0) throw new TrainError('there are no samples');
  const named = samples.filter((sample) => sample.class !== null).length;
  if (named > 0 && named < samples.length)
    throw new TrainError(
      `${samples.length - named} of ${samples.length} samples have no class: give one to all or to none`,
    );
  if (named > 0) {
    const names = [...new Set(samples.map((sample) => sample.class as string))].toSorted();
    if (names.length < 2) throw new TrainError(`all samples are of the class "${names[0]}": two at least are needed`);
    return {
      width: names.length,
      wanted: names.map((name) => Float64Array.from(samples, (sample) => (sample.class === name ? 1 : 0))),
      names,
    };
  }
  const models = [...new Set(samples.flatMap(({ quality }) => [...quality.keys()]))].toSorted();
  if (models.length < 2) throw new TrainError('without classes, samples need the quality of two models at least');
  for (const [at, { quality }] of samples.entries())
    for (const model of models)
      if (!quality.has(model)) throw new TrainError(`sample ${at + 1} has no quality of "${model}"`);
  // What is common to all models decides nothing: only who is better than the others is learned. Of two, one number says it.
  const gaps = models.map((model) =>
    Float64Array.from(samples, ({ quality }) => (quality.get(model) as number) - meanOf([...quality.values()])),
  );
  return {
    width: models.length === 2 ? 1 : models.length,
    wanted: models.length === 2 ? gaps.slice(0, 1) : gaps,
    names: null,
  };
}

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

const planeOf = (name: string, at: number, all: readonly string[]): TextClass => ({
  name,
  direction: all.map((_, output) => (output === at ? 1 : 0)),
  bias: 0,
});

/** Outputs for each row by weights that were fitted without its fold, row by row. */
function crossFit(
  rows: Rows,
  { width, wanted }: Lesson,
  fold: Int32Array,
  { folds, penalty }: { readonly folds: number; readonly penalty: number },
): Float64Array {
  const outputs = new Float64Array(rows.count * width);
  for (let out = 0; out < folds; out += 1) {
    const from = Array.from({ length: rows.count }, (_, row) => row).filter((row) => fold[row] !== out);
    for (const [output, target] of wanted.entries()) {
      const { weights, bias } = fitRidge({ rows, from, wanted: target, penalty });
      for (let row = 0; row < rows.count; row += 1)
        if (fold[row] === out) outputs[row * width + output] = bias + dotRow(rows, row, weights);
    }
  }
  return outputs;
}

function fitAll(
  rows: Rows,
  from: readonly number[],
  { width, wanted }: Lesson,
  penalty: number,
): Pick<TextModel, 'biases' | 'weights'> {
  const biases = new Float64Array(width);
  const weights = new Float32Array((2 ** rows.bits + FIGURES.length) * width);
  for (const [output, target] of wanted.entries()) {
    const fitted = fitRidge({ rows, from, wanted: target, penalty });
    biases[output] = fitted.bias;
    for (const [at, weight] of fitted.weights.entries()) weights[at * width + output] = weight;
  }
  return { biases, weights };
}

/** Classes of outputs that lie close together; the first are those where it matters least who serves. */
function bands(outputs: Float64Array, { width }: Lesson, count: number, seed: number): readonly TextClass[] {
  const { values } = kMeans({ points: outputs, width, count, random: seededRandom(seed) });
  const centres = Array.from({ length: values.length / width }, (_, at) => [
    ...values.subarray(at * width, (at + 1) * width),
  ]);
  const square = (centre: readonly number[]): number => centre.reduce((sum, value) => sum + value * value, 0);
  return centres
    .toSorted((a, b) => square(a) - square(b))
    .map((centre, at) => ({ name: `c${at + 1}`, direction: centre, bias: -square(centre) / 2 }));
}
