import { FEATURES_VERSION } from './features.ts';
import { MODEL_LIMITS } from './limits.ts';
import { type TextClass, type TextModel, weightsOf } from './linear.ts';
import type { Mean, QualityTable } from './quality-table.ts';

/** A model as it stands in a file, with how good models are by its classes. */
export interface TextModelFile {
  readonly model: TextModel;
  /** Empty where it was trained on classes alone. */
  readonly quality: QualityTable;
  /** Texts that it was learned from. */
  readonly samples: number;
}

/** Why a text is no model that can be used. `path` is the value at fault, `line` and `column` the place of a fault in the JSON itself. */
export interface TextModelFault {
  readonly path: string;
  readonly message: string;
  readonly line: number | null;
  readonly column: number | null;
}

const FORMAT = 'tokenlat-text-classes';
const VERSION = 1;
const CLASS_NAME = /^[\x21-\x7e]{1,64}$/;
/** Weights are kept in so many steps on each side of 0. */
const STEPS = 127;

class Unfit extends Error {
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

/** May a class have this name? */
export const isClassName = (name: string): boolean => CLASS_NAME.test(name);

/** Writes a model as JSON text. Weights are rounded to a byte each; the same model gives the same text. */
export function writeTextModel({ model, quality, samples }: TextModelFile): string {
  const { bits, biases, weights, classes } = model;
  const width = biases.length;
  const scales = Array.from(biases, (_, output) => {
    let most = 0;
    for (let at = output; at < weights.length; at += width) most = Math.max(most, Math.abs(weights[at] as number));
    return most === 0 ? 1 : most / STEPS;
  });
  const bytes = Int8Array.from(weights, (weight, at) => Math.round(weight / (scales[at % width] as number)));
  const shown = {
    format: FORMAT,
    version: VERSION,
    features: FEATURES_VERSION,
    samples,
    bits,
    classes: classes.map(({ name, direction, bias }) => ({ name, bias, direction })),
    quality: Object.fromEntries(
      [...quality].map(([name, { mean, n, classes: of }]) => [name, { mean, n, classes: Object.fromEntries(of) }]),
    ),
    biases: [...biases],
    scales,
    weights: Buffer.from(bytes.buffer).toString('base64'),
  };
  return `${JSON.stringify(shown, null, 2)}\n`;
}

/** Reads what `writeTextModel` wrote. Never throws: what is wrong comes back with its place. */
export function readTextModel(text: string): TextModelFile | { readonly fault: TextModelFault } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { fault: syntaxFault(text, error instanceof Error ? error.message : String(error)) };
  }
  try {
    return fileOf(value);
  } catch (error) {
    if (!(error instanceof Unfit)) throw error;
    return { fault: { path: error.path, message: error.message, line: null, column: null } };
  }
}

/** A fault as one sentence without its subject. */
export function faultText({ path, message, line, column }: TextModelFault): string {
  const place = line === null ? '' : ` (line ${line}, column ${column})`;
  return path === '' ? `${message}${place}` : `has an unfit "${path}": it ${message}${place}`;
}

/** V8 names the place in its message; of a strange character it quotes what is around it instead. */
function syntaxFault(text: string, message: string): TextModelFault {
  const isCut = message.includes('end of JSON input');
  const told = isCut ? String(text.length) : /at position (\d+)/.exec(message)?.[1];
  if (told === undefined)
    return { path: '', message: `is not JSON: ${message.replaceAll(/\s+/g, ' ')}`, line: null, column: null };
  const before = text.slice(0, Number(told));
  const line = before.split('\n').length;
  return { path: '', message: 'is not JSON', line, column: before.length - before.lastIndexOf('\n') };
}

function fileOf(value: unknown): TextModelFile {
  const file = objectAt(value, '');
  if (file['format'] !== FORMAT) throw new Unfit('format', `must be "${FORMAT}"`);
  if (file['version'] !== VERSION) throw new Unfit('version', `must be ${VERSION}: train the model again`);
  if (file['features'] !== FEATURES_VERSION)
    throw new Unfit('features', `must be ${FEATURES_VERSION}: train the model again`);
  const bits = wholeAt(file['bits'], 'bits', MODEL_LIMITS.bits.least, MODEL_LIMITS.bits.most);
  const biases = numbersAt(file['biases'], 'biases', null);
  if (biases.length === 0 || biases.length > MODEL_LIMITS.outputs)
    throw new Unfit('biases', `must have 1 to ${MODEL_LIMITS.outputs} numbers`);
  const classes = classesAt(file['classes'], biases.length);
  return {
    samples: wholeAt(file['samples'], 'samples', 0, Number.MAX_SAFE_INTEGER),
    model: { bits, biases: Float64Array.from(biases), classes, weights: weightsAt(file, bits, biases.length) },
    quality: qualityAt(file['quality'], new Set(classes.map(({ name }) => name))),
  };
}

function weightsAt(file: Readonly<Record<string, unknown>>, bits: number, width: number): Float32Array {
  const scales = numbersAt(file['scales'], 'scales', width);
  const coded = file['weights'];
  if (typeof coded !== 'string' || !/^[A-Za-z0-9+/]*={0,2}$/.test(coded)) throw new Unfit('weights', 'must be Base64');
  const bytes = Buffer.from(coded, 'base64');
  const wanted = weightsOf(bits, width);
  if (bytes.length !== wanted) throw new Unfit('weights', `must hold ${wanted} bytes, not ${bytes.length}`);
  const weights = new Float32Array(wanted);
  for (let at = 0; at < wanted; at += 1) weights[at] = bytes.readInt8(at) * (scales[at % width] as number);
  return weights;
}

function classesAt(value: unknown, width: number): readonly TextClass[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MODEL_LIMITS.classes)
    throw new Unfit('classes', `must be a list of 1 to ${MODEL_LIMITS.classes}`);
  const seen = new Set<string>();
  return value.map((item: unknown, at) => {
    const path = `classes[${at}]`;
    const { name, bias, direction } = objectAt(item, path);
    if (typeof name !== 'string' || !isClassName(name))
      throw new Unfit(`${path}.name`, 'must be 1 to 64 visible characters');
    if (seen.has(name)) throw new Unfit(`${path}.name`, 'stands there twice');
    seen.add(name);
    return { name, bias: numberAt(bias, `${path}.bias`), direction: numbersAt(direction, `${path}.direction`, width) };
  });
}

function qualityAt(value: unknown, names: ReadonlySet<string>): QualityTable {
  const models = Object.entries(objectAt(value, 'quality'));
  if (models.length > MODEL_LIMITS.models)
    throw new Unfit('quality', `must have at most ${MODEL_LIMITS.models} models`);
  return new Map(
    models.map(([model, item]) => {
      const path = `quality[${JSON.stringify(model)}]`;
      const entry = objectAt(item, path);
      const classes = Object.entries(objectAt(entry['classes'], `${path}.classes`)).map(([name, mean]) => {
        if (!names.has(name))
          throw new Unfit(`${path}.classes[${JSON.stringify(name)}]`, 'is of no class of the model');
        return [name, meanAt(mean, `${path}.classes[${JSON.stringify(name)}]`)] as const;
      });
      return [model, { ...meanAt(entry, path), classes: new Map(classes) }];
    }),
  );
}

function meanAt(value: unknown, path: string): Mean {
  const { mean, n } = objectAt(value, path);
  const at = numberAt(mean, `${path}.mean`);
  if (at < 0 || at > 1) throw new Unfit(`${path}.mean`, 'must be between 0 and 1');
  return { mean: at, n: wholeAt(n, `${path}.n`, 0, Number.MAX_SAFE_INTEGER) };
}

function objectAt(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Unfit(path, 'must be an object');
  return value as Readonly<Record<string, unknown>>;
}

function numberAt(value: unknown, path: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new Unfit(path, 'must be a number');
  return value;
}

function wholeAt(value: unknown, path: string, least: number, most: number): number {
  if (!Number.isInteger(value) || (value as number) < least || (value as number) > most)
    throw new Unfit(path, `must be a whole number from ${least} to ${most}`);
  return value as number;
}

function numbersAt(value: unknown, path: string, count: number | null): readonly number[] {
  if (!Array.isArray(value) || (count !== null && value.length !== count))
    throw new Unfit(path, count === null ? 'must be a list of numbers' : `must be a list of ${count} numbers`);
  return value.map((item: unknown, at) => numberAt(item, `${path}[${at}]`));
}
