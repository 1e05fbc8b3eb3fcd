import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, test } from 'node:test';
import { findProgram } from './find-program.ts';

const dir = mkdtempSync(join(tmpdir(), 'tl-path-'));
after(() => rmSync(dir, { recursive: true }));
const [first, second] = [join(dir, 'first'), join(dir, 'second')] as const;
for (const folder of [first, second]) mkdirSync(folder);
writeFileSync(join(second, 'tool'), '', { mode: 0o755 });
const PATH = [first, '', join(dir, 'gone'), second].join(delimiter);

test('a variable that is set wins, in the order given', () => {
  const env = { PATH, ONE: '', TWO: '/opt/two', THREE: '/opt/three' };
  assert.equal(findProgram('tool', ['ZERO', 'ONE', 'TWO', 'THREE'], env), '/opt/two');
});

test('else the first executable of that name on the path', () => {
  assert.equal(findProgram('tool', ['ONE'], { PATH }), join(second, 'tool'));
  writeFileSync(join(first, 'tool'), '', { mode: 0o755 });
  assert.equal(findProgram('tool', [], { PATH }), join(first, 'tool'));
});

test('what is no executable file is passed over', () => {
  mkdirSync(join(first, 'folder'));
  writeFileSync(join(first, 'text'), '');
  chmodSync(join(first, 'text'), 0o644);
  for (const name of ['folder', 'text', 'nowhere']) assert.equal(findProgram(name, [], { PATH }), null, name);
  for (const env of [{}, { PATH: '' }]) assert.equal(findProgram('tool', [], env), null);
});
