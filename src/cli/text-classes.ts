import fs from 'node:fs';
import { MAX_FILE } from '../config/references.ts';
import { appraise, type Appraisal } from '../lib/text-classes/appraise.ts';
import { createTextClassifier } from '../lib/text-classes/linear.ts';
import { faultText, readTextModel, type TextModelFile, writeTextModel } from '../lib/text-classes/model-file.ts';
import { shrunk, USUAL_STRENGTH } from '../lib/text-classes/quality-table.ts';
import { type Sample, TrainError, trainTextModel, type TrainOptions } from '../lib/text-classes/train.ts';
import { type Cell, type Column, jsonText, renderRows } from './output.ts';
import { printable } from './printable.ts';
import { readSamples, readText } from './samples.ts';
import { UserError } from './user-error.ts';

export interface ShownFlags {
  readonly json?: boolean;
}

export interface TrainFlags extends ShownFlags, TrainOptions {
  readonly out: string;
}

/** Fewer samples than this say nearly nothing of a class. */
const FEW = USUAL_STRENGTH;

/** Trains a model, writes it and says how good it is, and what speaks against it. Throws `UserError`. */
export function train(
  data: string,
  { out, json = false, ...options }: TrainFlags,
): { readonly text: string; readonly warnings: readonly string[] } {
  const samples = readSamples(data);
  const { model, predicted, table } = trained(() => trainTextModel(samples, options));
  const file: TextModelFile = { model, quality: table, samples: samples.length };
  const text = writeTextModel(file);
  if (text.length > MAX_FILE)
    throw new UserError(`the model would be ${text.length} bytes, and ${MAX_FILE} are the most: use fewer --bits`);
  writeFile(out, text);
  const found = appraise(samples, { classes: predicted, table, isOwn: true });
  return {
    text: json
      ? jsonText({ ...shownFile(file), appraisal: found, out, bytes: text.length })
      : `${tableOf(file)}\nby samples left out of what was learned from:\n${appraisalText(found)}wrote ${out} (${text.length} bytes)\n`,
    warnings: doubts(samples, { classes: model.classes.map(({ name }) => name), predicted, right: found.right }),
  };
}

interface Learned {
  readonly classes: readonly string[];
  readonly predicted: readonly string[];
  readonly right: Appraisal['right'];
}

/** Why a model may be of no use. */
function doubts(samples: readonly Sample[], { classes, predicted, right }: Learned): readonly string[] {
  const counts = new Map(classes.map((name) => [name, 0]));
  samples.forEach((sample, row) => {
    const name = sample.class ?? predicted[row] ?? '';
    counts.set(name, (counts.get(name) ?? 0) + 1);
  });
  const few = [...counts].filter(([, count]) => count < FEW).map(([name, count]) => `${name} (${count})`);
  const largest = Math.max(...counts.values()) / samples.length;
  return [
    ...(few.length === 0
      ? []
      : [`classes with fewer than ${FEW} samples, of which little is learned: ${few.join(', ')}`]),
    ...(right === null || right > largest
      ? []
      : ['samples left out were put in their class no better than if all were of the largest']),
  ].map(printable);
}

/** Says how good a model is on samples that it was not learned from. Throws `UserError`. */
export function test(path: string, data: string, { json = false }: ShownFlags): string {
  const { model, quality } = readModel(path);
  const samples = readSamples(data);
  if (samples.length === 0) throw new UserError(`${data} has no samples`);
  const classify = createTextClassifier(model);
  const classes = samples.map(({ text }) => classify(text).class);
  const found = appraise(samples, { classes, table: quality, isOwn: false });
  return json ? jsonText(found) : appraisalText(found);
}

/** Shows the classes of a model, or the class of a text. Throws `UserError`. */
export function show(path: string, { prompt, json = false }: ShownFlags & { readonly prompt?: string }): string {
  const file = readModel(path);
  if (prompt === undefined) return json ? jsonText(shownFile(file)) : tableOf(file);
  const { class: name, margin } = createTextClassifier(file.model)(prompt);
  return json
    ? jsonText({ class: name, margin: Number.isFinite(margin) ? margin : null })
    : `${printable(name)} (${margin.toFixed(3)} ahead of the next)\n`;
}

function writeFile(file: string, text: string): void {
  try {
    fs.writeFileSync(file, text);
  } catch (error) {
    throw new UserError(`${file} cannot be written (${(error as NodeJS.ErrnoException).code ?? String(error)})`);
  }
}

function readModel(path: string): TextModelFile {
  const file = readTextModel(readText(path));
  if ('fault' in file) throw new UserError(`${path} ${faultText(file.fault)}`);
  return file;
}

function trained<T>(train: () => T): T {
  try {
    return train();
  } catch (error) {
    if (error instanceof TrainError) throw new UserError(error.message);
    throw error;
  }
}

/** Without the weights. */
function shownFile({ model, quality, samples }: TextModelFile): object {
  return {
    object: 'text_classes',
    samples,
    bits: model.bits,
    classes: model.classes.map(({ name }) => name),
    quality: Object.fromEntries(
      [...quality].map(([name, { mean, n, classes }]) => [name, { mean, n, classes: Object.fromEntries(classes) }]),
    ),
  };
}

/** A line a class: how many samples that tell a quality fell there, and the quality of each model as routes use it. */
function tableOf({ model, quality }: TextModelFile): string {
  const columns: readonly Column<string>[] = [
    { title: 'class', name: 'class', value: (name) => name },
    {
      title: 'with quality',
      name: 'with_quality',
      value: (name) => Math.max(0, ...[...quality.values()].map(({ classes }) => classes.get(name)?.n ?? 0)),
    },
    ...[...quality].map(([title, { mean, classes }]) => ({
      title,
      name: title,
      value: (name: string): Cell => shrunk(classes.get(name) ?? { mean, n: 0 }, mean).toFixed(3),
    })),
  ];
  return renderRows({ format: 'table', columns, rows: model.classes.map(({ name }) => name) });
}

function appraisalText({ samples, right, bestSingle, byClass, oracle }: Appraisal): string {
  const lines = [`samples          ${samples}`];
  if (right !== null) lines.push(`right class      ${(right * 100).toFixed(1)} %`);
  if (bestSingle !== null)
    lines.push(`best single      ${bestSingle.quality.toFixed(3)} (${printable(bestSingle.model)})`);
  if (byClass !== null) lines.push(`best by class    ${byClass.toFixed(3)}`);
  if (oracle !== null) lines.push(`best by sample   ${oracle.toFixed(3)}`);
  return `${lines.join('\n')}\n`;
}
