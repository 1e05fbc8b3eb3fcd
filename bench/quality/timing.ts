import { seededRandom } from '../../src/lib/hash32/seeded-random.ts';
import { createTextClassifier } from '../../src/lib/text-classes/linear.ts';
import { trainTextModel } from '../../src/lib/text-classes/train.ts';
import type { Timing } from './markdown.ts';

const ROUNDS = 2000;
/** Different texts. */
const KINDS = 40;
const SIZES = [
  ['1 KiB', 1024],
  ['8 KiB', 8 * 1024],
  ['1 MiB', 1024 * 1024],
] as const;

/** Times of models with one and with nine outputs, on texts made of the given ones. */
export function timings(texts: readonly string[]): readonly Timing[] {
  const random = seededRandom(3);
  return [2, 9].flatMap((models) => {
    const samples = texts.slice(0, 500).map((text) => ({
      text,
      class: null,
      quality: new Map(Array.from({ length: models }, (_, at) => [`m${at}`, random()])),
    }));
    const { model } = trainTextModel(samples);
    const classify = createTextClassifier(model);
    return SIZES.map(([name, size]): Timing => {
      const asked = Array.from({ length: KINDS }, (_, at) => textOf(texts, at * 17, size));
      const times = Array.from({ length: ROUNDS }, (_, at) => {
        const text = asked[at % KINDS] ?? '';
        const before = performance.now();
        classify(text);
        return performance.now() - before;
      })
        .slice(ROUNDS / 4)
        .toSorted((a, b) => a - b);
      const at = (share: number): number => times[Math.floor(share * (times.length - 1))] as number;
      return { text: name, outputs: model.biases.length, medianMs: at(0.5), p99Ms: at(0.99) };
    });
  });
}

function textOf(texts: readonly string[], from: number, size: number): string {
  const parts: string[] = [];
  let length = 0;
  for (let at = from; length < size; at += 1) {
    const part = texts[at % texts.length] ?? ' ';
    parts.push(part);
    length += part.length + 1;
  }
  return parts.join('\n').slice(0, size);
}
