import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { DIALECT_NAMES } from './dialects.ts';
import { ConfigError } from './config-error.ts';
import { CONFIG_CHECKS, load } from './load.ts';

const dir = mkdtempSync(join(tmpdir(), 'tl-load-'));
after(() => rmSync(dir, { recursive: true }));
const path = join(dir, 'tokenlat.yaml');

const BASE = `version: 1
auth: {api_keys: [{name: k, key: "0123456789abcdef", tenant: t}]}
backends: [{name: b, endpoints: [{url: "http://10.0.0.1:8000/v1"}]}]
models: [{name: m, deployments: [{backend: b}]}]
`;

function loadText(text: string) {
  writeFileSync(path, text);
  return load(path);
}

function refused(text: string): ConfigError {
  let thrown: unknown = null;
  try {
    loadText(text);
  } catch (error) {
    thrown = error;
  }
  assert.ok(thrown instanceof ConfigError, String(thrown));
  return thrown;
}

test('a configuration that is fit to run brings its path and every file', () => {
  const { snapshot, files, path: full } = loadText(BASE);
  assert.equal(full, path);
  assert.equal(snapshot.generation, 1);
  assert.equal(files.get(path), BASE);
});

test('a fault is told with file, line, column, the line and a mark below it', () => {
  const { message, problems, name } = refused(BASE.replace('name: m,', 'name: m, deploymentz: 1,'));
  assert.equal(name, 'ConfigError');
  assert.ok(problems.length >= 1);
  const [head = '', line = '', mark = ''] = message.split('\n');
  assert.ok(head.startsWith(`${path}:4:`), head);
  assert.match(head, /deploymentz/);
  assert.match(line, /^ {4}models:/);
  assert.equal(line[mark.indexOf('^')], 'd');
});

test('every fault is told, not the first one alone', () => {
  const shapes = refused(
    BASE.replace('version: 1', 'version: 9').replace('name: m,', 'name: m, deploymentz: 1,'),
  ).problems;
  for (const line of [1, 4])
    assert.ok(
      shapes.some((problem) => problem.line === line),
      `line ${line}`,
    );
  const names = refused(
    BASE.replace('name: b,', 'name: b, dialect: morse,').replace('backend: b', 'backend: c'),
  ).problems;
  assert.ok(names.some((problem) => problem.line === 3 && /morse/.test(problem.message)));
  assert.ok(names.some((problem) => problem.line === 4 && /c/.test(problem.message)));
});

test('no secret of the file is in what is told of it', () => {
  const { message } = refused(BASE.replace('tenant: t}', 'tenant: t, tier: 5, nonsense: 1}'));
  assert.doesNotMatch(message, /0123456789abcdef/);
});

test('a file that is not there, or that is no YAML, is a fault like any other', () => {
  assert.throws(
    () => load(join(dir, 'nowhere.yaml')),
    (error) => error instanceof ConfigError && error.message.endsWith('nowhere.yaml: does not exist'),
  );
  assert.match(refused('a: [1').message, /tokenlat\.yaml:\d+:\d+: /);
});

test('rules are checked when they are read, and a fault is told where it stands', () => {
  assert.equal(CONFIG_CHECKS.checkMatch("request.model == 'x'"), null);
  const wrong = CONFIG_CHECKS.checkMatch("request.model == 'x' && nobody.knows");
  assert.ok(wrong !== null && wrong.offset >= 0 && wrong.message !== '');
  const { message } = refused(
    `${BASE}routes:\n  - name: r\n    models: [m]\n    match: "request.model =="\n    candidates: [{model: m}]\n`,
  );
  assert.match(message, /tokenlat\.yaml:8:\d+: /);
});

test('the dialects of this build are those that a configuration may name', () => {
  for (const dialect of DIALECT_NAMES) {
    const { snapshot } = loadText(BASE.replace('name: b,', `name: b, dialect: ${dialect},`));
    assert.equal(snapshot.backends.get('b')?.dialect, dialect);
  }
  assert.ok(DIALECT_NAMES.includes('openai') && DIALECT_NAMES.includes('vllm-generate'));
});
