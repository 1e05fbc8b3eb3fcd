import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatProblems, pathText } from './problem.ts';

const source = (file: string): string | undefined => (file === 'a.yaml' ? 'one:\r\n\tx: 1\r\n' : undefined);

test('a problem is shown with its line and a caret', () => {
  const problem = { file: 'a.yaml', line: 2, column: 4, path: 'x', message: 'must be a list' };
  assert.equal(formatProblems([problem], source), 'a.yaml:2:4: must be a list\n    \tx: 1\n    \t  ^');
  assert.equal(formatProblems([{ ...problem, file: 'b.yaml' }], source), 'b.yaml:2:4: must be a list');
  assert.equal(formatProblems([{ ...problem, line: 99 }], source), 'a.yaml:99:4: must be a list');
  const around = { ...problem, path: 'y.z', isAround: true } as const;
  assert.equal(formatProblems([around], source), 'a.yaml:2:4: y.z: must be a list\n    \tx: 1\n    \t  ^');
  assert.equal(formatProblems([{ ...around, path: '' }]), 'a.yaml:2:4: must be a list');
  assert.equal(formatProblems([{ ...problem, isFile: true }], source), 'a.yaml: must be a list');
  assert.equal(formatProblems([]), '');
});

const show = (line: string): string =>
  formatProblems([{ file: 'a', line: 1, column: 1, path: '', message: 'm' }], () => line);

test('a secret written out is not printed', () => {
  for (const line of [
    'secret: hunter2-hunter2',
    '- { name: a, key: hunter2-hunter2, tenant: t }',
    "value: 'hunter2-hunter2'",
    'credentials: {header: x, "value": "Bearer hunter2-hunter2"}',
    'url: redis://user:hunter2-hunter2@host:1',
    'value: "Bearer hunter2-hunter2',
  ])
    assert.ok(!show(line).includes('hunter2'), show(line));
  assert.ok(show('value: "Bearer ${env:KEY}"').includes('${env:KEY}'));
});

test('paths read as they stand in the file', () => {
  assert.equal(pathText(['backends', 0, 'endpoints', 1, 'url']), 'backends[0].endpoints[1].url');
  assert.equal(pathText([]), '');
});
