import { FeatureReader, type Features, FIGURES } from './features.ts';

/** A class of texts: the plane whose value says how much a text is of it. */
export interface TextClass {
  readonly name: string;
  /** One factor for each output. */
  readonly direction: readonly number[];
  readonly bias: number;
}

/** Outputs that are linear in the features of a text, and classes that are linear in the outputs. */
export interface TextModel {
  /** The table of words has `2 ** bits` slots. */
  readonly bits: number;
  /** Constants of the outputs: as many as there are outputs. */
  readonly biases: Float64Array;
  /** Slot by slot, then figure by figure; each with one weight for each output. */
  readonly weights: Float32Array;
  /** At least one. */
  readonly classes: readonly TextClass[];
}

export interface TextVerdict {
  readonly class: string;
  /** How far it is ahead of the second, at least 0; infinite where there is no second. */
  readonly margin: number;
}

/** Weights of a model with so many bits and outputs. */
export const weightsOf = (bits: number, outputs: number): number => (2 ** bits + FIGURES.length) * outputs;

/** Adds what the features make to `outputs`, which begin at their biases. */
export function project(
  { slots, count, value, figures }: Features,
  { biases, weights, bits }: Pick<TextModel, 'biases' | 'weights' | 'bits'>,
  outputs: Float64Array,
): void {
  const width = biases.length;
  outputs.fill(0);
  for (let at = 0; at < count; at += 1) {
    const from = (slots[at] as number) * width;
    for (let output = 0; output < width; output += 1)
      outputs[output] = (outputs[output] as number) + (weights[from + output] as number);
  }
  const base = 2 ** bits * width;
  for (let output = 0; output < width; output += 1) {
    let sum = (outputs[output] as number) * value + (biases[output] as number);
    for (let at = 0; at < figures.length; at += 1)
      sum += (figures[at] as number) * (weights[base + at * width + output] as number);
    outputs[output] = sum;
  }
}

/** The class of outputs: its place and how far it is ahead. Of equals the first. */
export function nearest(
  outputs: ArrayLike<number>,
  classes: readonly TextClass[],
): { readonly at: number; readonly margin: number } {
  let at = 0;
  let best = -Infinity;
  let second = -Infinity;
  for (const [place, { direction, bias }] of classes.entries()) {
    let value = bias;
    for (let output = 0; output < direction.length; output += 1)
      value += (direction[output] as number) * (outputs[output] as number);
    if (value > best) {
      second = best;
      best = value;
      at = place;
    } else second = Math.max(second, value);
  }
  return { at, margin: best - second };
}

/** Says of which class a text is. Time is bounded whatever the text's length; the same text is always of the same class. */
export function createTextClassifier(model: TextModel): (text: string) => TextVerdict {
  const reader = new FeatureReader(model.bits);
  const outputs = new Float64Array(model.biases.length);
  return (text) => {
    project(reader.read(text), model, outputs);
    const { at, margin } = nearest(outputs, model.classes);
    return { class: (model.classes[at] as TextClass).name, margin };
  };
}
