import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { goldenSamples } from '../lib/text-classes/golden-samples.test.ts';
import { writeTextModel } from '../lib/text-classes/model-file.ts';
import { trainTextModel } from '../lib/text-classes/train.ts';
import { loadConfig } from './load-config.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-classes-'));
after(() => fs.rmSync(dir, { recursive: true, force: true }));

const samples = goldenSamples({ labelled: true });
const trained = trainTextModel(samples, { bits: 10, penalty: 1 });
const MODEL = writeTextModel({ model: trained.model, quality: trained.table, samples: samples.length });

const BASE = `version: 1
auth: {api_keys: [{name: k, key: "0123456789abcdef", tenant: t}]}
backends: [{name: b, endpoints: [{url: "http://10.0.0.1:8000/v1"}]}]
`;
const MODELS = 'models: [{name: small, deployments: [{backend: b}]}, {name: large, deployments: [{backend: b}]}]\n';
const CANDIDATES = 'candidates: [{model: small}, {model: large}], weights: {quality: 1}';

function load(text: string, model = MODEL) {
  const file = path.join(dir, 'tokenlat.yaml');
  fs.writeFileSync(file, BASE + text);
  fs.writeFileSync(path.join(dir, 'work.json'), model);
  return loadConfig({
    path: file,
    env: {},
    generation: 1,
    dialects: ['openai'],
    checkMatch: (source) => (source === 'bad' ? { message: 'no', offset: 0 } : null),
  });
}

function made(text: string, model?: string) {
  const result = load(text, model);
  assert.ok(result.ok, JSON.stringify(result.ok ? '' : result.problems));
  return result;
}

const shown = (found: readonly { line: number; column: number; path: string; message: string }[]): string[] =>
  found.map(({ line, column, path: at, message }) => `${line}:${column} ${at}: ${message}`);

function problems(text: string, model?: string): string[] {
  const result = load(text, model);
  return result.ok ? [] : shown(result.problems);
}

test('a quality for what is no class is told of, where classes choose among its model', () => {
  const judged = (name: string): string =>
    `models: [{name: small, deployments: [{backend: b, profile: {quality_for: {${name}: 0.3}}}]}, {name: large, deployments: [{backend: b}]}]
classifiers: [{name: work, header: true, rules: [{when: "true", class: code}], classes: [math], default: general}]
`;
  const route = `routes: [{name: r, ${CANDIDATES}, classify: work}]\n`;
  const told = (text: string): string[] =>
    shown(made(text).warnings)
      .filter((line) => line.includes('quality_for'))
      .map((line) => line.replace(/^[\d:]+ /, ''));
  assert.deepEqual(told(judged('coed') + route), [
    'models[0].deployments[0].profile.quality_for.coed: no classifier knows a class "coed": it counts only for requests with x-request-type: coed. Did you mean "code"?',
  ]);
  for (const name of ['code', 'math', 'general', 'chat', 'embeddings'])
    assert.deepEqual(told(judged(name) + route), []);
  assert.deepEqual(told(judged('batch')), [], 'nothing is chosen by class: it is a type');
});

test('off where nothing is said', () => {
  const { snapshot } = made(MODELS);
  assert.equal(snapshot.classifiers.size, 0);
  assert.equal(snapshot.routes[0]?.classifier, null);
  assert.equal(snapshot.routes[0]?.scoreFor.size, 0);
});

test('a classifier with all there is, in a route', () => {
  const { snapshot, warnings, files } = made(`${MODELS}classifiers:
  - name: work
    header: true
    rules: [{when: "request.has_tools", class: agent}]
    model: work.json
    min_margin: 0.1
    classes: [vip]
    default: other
routes: [{name: r, ${CANDIDATES}, classify: work, weights_for: {math: {cost: 1}}}]
`);
  assert.deepEqual(
    warnings.filter(({ path: at }) => at !== ''),
    [],
  );
  assert.ok(files.has(path.join(dir, 'work.json')));
  const { classifier, scoreFor, score } = snapshot.routes[0]!;
  assert.equal(classifier, snapshot.classifiers.get('work'));
  assert.deepEqual([...classifier.classes], ['agent', 'chat', 'code', 'math', 'vip', 'other']);
  assert.equal(classifier.text!.classify('prove that x equals 7 times the sum').class, 'math');
  const small = classifier.text!.quality.get('small')!;
  assert.ok(small.get('math')! < small.get('code')! && small.get('code')! < small.get('chat')!);
  assert.deepEqual(scoreFor.get('math'), { ...score, weights: { cost: 1, latency: 0, quality: 0 } });
});

test('another model is another configuration', () => {
  const text = `${MODELS}classifiers: [{name: work, model: work.json}]\n`;
  const other = MODEL.replace('"samples": 192', '"samples": 193');
  assert.notEqual(made(text).snapshot.digest, made(text, other).snapshot.digest);
});

test('means of few observations are drawn to the quality in general', () => {
  const profile = '{quality: 0.5, quality_for: {code: {mean: 0.9, n: 20}, chat: 0.7, rare: {mean: 1, n: 0}}';
  const of = (more: string) =>
    made(`models: [{name: m, deployments: [{backend: b, profile: ${profile}${more}}}]}]\n`).snapshot.models.get('m')
      ?.deployments[0]?.profile.qualityFor;
  assert.deepEqual(
    of(''),
    new Map([
      ['code', 0.7],
      ['chat', 0.7],
      ['rare', 0.5],
    ]),
  );
  assert.deepEqual(
    of(', quality_strength: 0'),
    new Map([
      ['code', 0.9],
      ['chat', 0.7],
      ['rare', 0.5],
    ]),
  );
});

test('problems have their places', () => {
  const of = (entry: string): string => problems(`${MODELS}classifiers: [${entry}]\n`)[0] ?? '';
  assert.equal(
    of('{name: w}'),
    '5:15 classifiers[0]: says nothing of a request: name rules or model, or allow the header',
  );
  assert.match(
    of('{name: w, header: true}, {name: w, header: true}'),
    /^5:47 classifiers\[1\]\.name: "w" is named twice/,
  );
  assert.match(of('{name: w, rules: [{when: bad, class: a}]}'), /rules\[0\]\.when: is not a usable CEL expression: no/);
  assert.match(of('{name: w, rules: [{when: ok, class: "a b"}]}'), /rules\[0\]\.class: must be a class/);
  assert.match(of('{name: w, model: none.json}'), /^5:32 classifiers\[0\]\.model: .*none\.json does not exist/);
  assert.match(of('{name: w, header: true, min_margin: 0.5}'), /min_margin: has no effect without model/);
  const route = (text: string, more = ''): string =>
    problems(`${MODELS}${more}routes: [{name: r, ${CANDIDATES}, ${text}}]\n`)[0] ?? '';
  const work = 'classifiers: [{name: work, model: work.json}]\n';
  assert.match(
    route('classify: wrk', work),
    /^6:\d+ routes\[0\]\.classify: there is no classifier "wrk"\. Did you mean "work"\?/,
  );
  assert.match(route('weights_for: {a: {cost: 1}}'), /weights_for: has no effect without classify/);
  assert.match(
    route('classify: work, weights_for: {maths: {cost: 1}}', work),
    /^6:\d+ routes\[0\]\.weights_for\.maths: "work" knows no class "maths"\. Did you mean "math"\?/,
  );
  assert.match(
    problems(`${MODELS}${work}routes: [{name: r, classify: work, weights_for: {math: {}}}]\n`)[0] ?? '',
    /weights_for: has no effect without weights/,
  );
});

test('a model that cannot be used is told with its place in both files', () => {
  const of = (model: string): string =>
    problems(`${MODELS}classifiers: [{name: w, model: work.json}]\n`, model)[0] ?? '';
  assert.match(
    of('{\n  "format" 1\n}'),
    /^5:32 classifiers\[0\]\.model: .*work\.json is not JSON \(line 2, column 12\)$/,
  );
  assert.match(of('{}'), /work\.json has an unfit "format": it must be "tokenlat-text-classes"$/);
  assert.match(
    of(MODEL.replace('"bits": 10', '"bits": 11')),
    /has an unfit "weights": it must hold \d+ bytes, not \d+$/,
  );
});

test('a candidate without quality among others that have one is warned of', () => {
  const models = MODELS.replace('large', 'huge');
  const { warnings } = made(
    `${models}classifiers: [{name: w, model: work.json}]\nroutes: [{name: r, ${CANDIDATES.replace('large', 'huge')}, classify: w}]\n`,
  );
  assert.match(shown(warnings).join('\n'), /candidates: "huge" has no quality in the model of "w" and others have/);
});
