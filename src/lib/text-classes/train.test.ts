import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { goldenSamples } from './golden-samples.test.ts';
import { createTextClassifier } from './linear.ts';
import { readTextModel, writeTextModel } from './model-file.ts';
import { shrunk } from './quality-table.ts';
import { TrainError, trainTextModel } from './train.ts';

const BITS = 10;

function writtenOf(labelled: boolean, seed = 1): string {
  const samples = goldenSamples({ labelled });
  const { model, table } = trainTextModel(samples, { bits: BITS, classes: 3, penalty: 1, seed });
  return writeTextModel({ model, quality: table, samples: samples.length });
}

function readBack(text: string) {
  const file = readTextModel(text);
  assert.ok('model' in file, JSON.stringify(file));
  return file;
}

test('classes that are given are learned, from texts not seen before', () => {
  const samples = goldenSamples({ labelled: true });
  const { predicted, model, table } = trainTextModel(samples, { bits: BITS, penalty: 1 });
  const right = predicted.filter((name, row) => name === samples[row]?.class).length;
  assert.ok(right >= 185, `${right} of ${samples.length}`);
  const classify = createTextClassifier(model);
  assert.equal(classify('debug the function that returns a null object in python').class, 'code');
  assert.equal(classify('if x equals 9, what is the sum of 4 times x').class, 'math');
  const small = table.get('small')!;
  assert.ok(small.classes.get('math')!.mean < 0.2 && small.classes.get('chat')!.mean > 0.8);
});

test('without classes, they are made of who is better than whom', () => {
  const samples = goldenSamples({ labelled: false });
  const { model, table } = trainTextModel(samples, { bits: BITS, classes: 3, penalty: 1 });
  const classify = createTextClassifier(model);
  const gap = (text: string): number => {
    const { class: name } = classify(text);
    const [large, small] = ['large', 'small'].map((of) => {
      const { mean, classes } = table.get(of)!;
      return shrunk(classes.get(name) ?? { mean, n: 0 }, mean);
    });
    return large! - small!;
  };
  const math = gap('prove that x equals 15 times 7 and the sum converges');
  const chat = gap('recommend a film for a rainy evening with a friend');
  assert.ok(math > 0.5 && chat < 0.3, `math ${math}, chat ${chat}`);
  // The first class is where it matters least.
  assert.equal(classify('recommend a film for a rainy evening with a friend').class, 'c1');
});

test('the same samples give the same file, byte for byte', () => {
  assert.equal(writtenOf(true), writtenOf(true));
  assert.equal(writtenOf(false), writtenOf(false));
  const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);
  // A change of features or training shows here: it needs another FEATURES_VERSION, or a line in the CHANGELOG.
  assert.deepEqual([digest(writtenOf(true)), digest(writtenOf(false))], GOLDEN);
});

test('a model that was written and read says the same of nearly every text', () => {
  const samples = goldenSamples({ labelled: true });
  const { model } = trainTextModel(samples, { bits: BITS, penalty: 1 });
  const before = createTextClassifier(model);
  const after = createTextClassifier(readBack(writtenOf(true)).model);
  const same = samples.filter(({ text }) => before(text).class === after(text).class).length;
  assert.ok(same >= samples.length - 2, `${same} of ${samples.length}`);
});

test('what cannot be learned from is told', () => {
  const of = (given: string | null, quality: Record<string, number> = {}) => ({
    text: 'x',
    class: given,
    quality: new Map(Object.entries(quality)),
  });
  const fails = (samples: Parameters<typeof trainTextModel>[0], message: RegExp): void =>
    assert.throws(
      () => trainTextModel(samples),
      (error) => error instanceof TrainError && message.test(error.message),
    );
  fails([], /no samples/);
  fails([of('a'), of(null)], /1 of 2 samples have no class/);
  fails([of('a'), of('a')], /all samples are of the class "a"/);
  fails([of(null, { m: 1 })], /two models/);
  fails([of(null, { m: 1, o: 1 }), of(null, { m: 1 })], /sample 2 has no quality of "o"/);
});

test('samples of one group are not learned from to be tested on one another', () => {
  // Copies with outcomes of chance: who sees a copy of each foresees everything, who does not nothing.
  const half = Array.from({ length: 60 }, (_, at) => ({
    text: [at, at * 7 + 3, at * 13 + 5].map(wordOf).join(' '),
    class: (at * 2654435761) % 97 < 48 ? 'a' : 'b',
    quality: new Map<string, number>(),
  }));
  const twice = [...half, ...half];
  const rightBy = (group: boolean): number => {
    const samples = twice.map((sample) => ({ ...sample, group: group ? sample.text : null }));
    const { predicted } = trainTextModel(samples, { bits: BITS, penalty: 0.1 });
    return predicted.filter((name, row) => name === samples[row]?.class).length / samples.length;
  };
  assert.ok(rightBy(false) > 0.75, `alone ${rightBy(false)}`);
  assert.ok(rightBy(true) < 0.65, `in groups ${rightBy(true)}`);
});

/** A word of its own for each number, without digits. */
const wordOf = (at: number): string =>
  at.toString(8).replaceAll(/[0-7]/g, (digit) => `${'bdfgklmn'[Number(digit)] ?? ''}a`);

const GOLDEN = ['be281f5ae89cee10', '4e2e47c6726f2fbb'];

test('a file that is no model is refused with its place', () => {
  const good = JSON.parse(writtenOf(true)) as Record<string, never>;
  const faultOf = (text: string) => {
    const read = readTextModel(text);
    assert.ok('fault' in read);
    return read.fault;
  };
  const changed = (changes: Record<string, unknown>) => faultOf(JSON.stringify({ ...good, ...changes }));
  assert.deepEqual(faultOf('{\n  "format" 1\n}'), { path: '', message: 'is not JSON', line: 2, column: 12 });
  assert.deepEqual(faultOf('{\n'), { path: '', message: 'is not JSON', line: 2, column: 1 });
  assert.match(faultOf('{\n  "format": tokenlat\n}').message, /is not JSON: .*tokenlat/);
  assert.deepEqual(faultOf('{"format"'), { path: '', message: 'is not JSON', line: 1, column: 10 });
  const cases: readonly (readonly [string, Record<string, unknown>])[] = [
    ['format', { format: 'other' }],
    ['version', { version: 2 }],
    ['features', { features: 0 }],
    ['bits', { bits: 40 }],
    ['samples', { samples: -1 }],
    ['biases', { biases: [] }],
    ['biases[0]', { biases: [null, 0, 0] }],
    ['scales', { scales: [1] }],
    ['weights', { weights: '%' }],
    ['weights', { weights: 'AAAA' }],
    ['classes', { classes: [] }],
    ['classes[0]', { classes: ['a'] }],
    ['classes[0].name', { classes: [{ name: 'a b', bias: 0, direction: [1, 0, 0] }] }],
    ['classes[0].direction', { classes: [{ name: 'a', bias: 0, direction: [1] }] }],
    ['classes[0].bias', { classes: [{ name: 'a', bias: 'x', direction: [1, 0, 0] }] }],
    ['quality', { quality: null }],
    ['quality["m"].mean', { quality: { m: { mean: 2, n: 1, classes: {} } } }],
    ['quality["m"].classes["z"]', { quality: { m: { mean: 1, n: 1, classes: { z: { mean: 1, n: 1 } } } } }],
  ];
  for (const [path, changes] of cases) assert.equal(changed(changes).path, path, JSON.stringify(changes));
  assert.match(changed({ classes: [good['classes']![0], good['classes']![0]] }).message, /twice/);
});
