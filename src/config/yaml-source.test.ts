import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readYaml, SOURCE_LIMITS } from './yaml-source.ts';
import { cpuTimeMs } from '../../test/support/cpu-time.ts';

const plain = (text: string) => ({ text, problem: null });
const read = (text: string) => readYaml('f.yaml', text, plain);
const first = (text: string) => read(text).problems[0]?.message ?? 'no problem';

const place = (problem: { line: number; column: number }): number[] => [problem.line, problem.column];

test('values keep their places', () => {
  const source = read('a:\n  - b: 1\n  - c: "x y"\n');
  assert.deepEqual(JSON.parse(JSON.stringify(source.data)), { a: [{ b: 1 }, { c: 'x y' }] });
  assert.deepEqual(place(source.at(['a', 1, 'c'], 'm')), [3, 8]);
  assert.deepEqual(place(source.at(['a', 1, 'c'], 'm', 2)), [3, 11]);
  assert.deepEqual(place(source.atKey(['a', 1, 'c'], 'm')), [3, 5]);
  assert.deepEqual(place(source.at(['a', 0, 'missing', 'deeper'], 'm')), [2, 5]);
});

test('a key that stands twice is refused, also spelled with escapes', () => {
  assert.match(first('a: 1\nb: 2\na: 3\n'), /"a" stands here a second time/);
  assert.match(first('a: 1\n"\\u0061": 3\n'), /second time/);
  assert.deepEqual(
    read('x: 1\ny:\n  a: 1\n  a: 2\n').problems.map((p) => [p.line, p.column, p.path]),
    [[4, 3, 'y.a']],
  );
});

test('many keys are read in linear time', () => {
  const text = Array.from({ length: 50_000 }, (_, index) => `k${index}: 1`).join('\n');
  const start = cpuTimeMs();
  assert.equal(read(text).problems.length, 0);
  assert.ok(cpuTimeMs() - start < 5000);
});

test('bombs end in a problem, quickly', () => {
  const laughs = [
    'a0: &a0 [x,x,x,x,x,x,x,x,x]',
    ...Array.from({ length: 12 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]`),
  ].join('\n');
  const start = cpuTimeMs();
  assert.match(first(laughs), /too many values/);
  assert.match(first(`${'['.repeat(60)}${']'.repeat(60)}`), /nested deeper/);
  assert.notEqual(first('['.repeat(200_000)), 'no problem');
  assert.notEqual(first('{a: '.repeat(20_000)), 'no problem');
  assert.match(first('a: &x [*x]'), /leads nowhere|not valid YAML/);
  assert.match(first('x'.repeat(SOURCE_LIMITS.bytes + 1)), /is larger than/);
  assert.ok(cpuTimeMs() - start < 8000);
});

test('aliases, tags, several documents and odd keys', () => {
  assert.deepEqual(JSON.parse(JSON.stringify(read('a: &x {b: 1}\nc: *x\n').data)), { a: { b: 1 }, c: { b: 1 } });
  assert.match(first('a: *nowhere\n'), /not valid YAML|leads nowhere/);
  assert.match(first('a: !!python/object:os.system x\n'), /not valid YAML/);
  assert.match(first('a: 1\n---\nb: 2\n'), /not valid YAML/);
  assert.match(first('? [a]\n: 1\n'), /key that is not a word/);
  const hostile = read('__proto__: {polluted: true}\n');
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
  assert.deepEqual(Object.keys(hostile.data as object), ['__proto__']);
});

test('a byte order mark and CRLF change nothing', () => {
  const source = read('\uFEFFa: 1\r\nb:\r\n  c: x\r\n');
  assert.deepEqual(source.problems, []);
  assert.deepEqual(JSON.parse(JSON.stringify(source.data)), { a: 1, b: { c: 'x' } });
  assert.equal(source.at(['b', 'c'], 'm').line, 3);
});
