import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { createFileReader, createSubstitute } from './references.ts';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-references-'));
after(() => fs.rmSync(dir, { recursive: true }));
fs.writeFileSync(path.join(dir, 'key'), 's3cret ${env:A}\n');
fs.writeFileSync(path.join(dir, 'binary'), Buffer.from([0xff, 0xfe, 0x00]));

const files = createFileReader(dir);
const substitute = createSubstitute({ env: { A: 'aa', EMPTY: '' }, files });

const problem = (from: string): string => substitute(from).problem ?? 'none';
const text = (from: string): string => {
  assert.equal(problem(from), 'none');
  return substitute(from).text;
};

test('references are replaced, once', () => {
  assert.equal(text('x ${env:A} y ${env:A}'), 'x aa y aa');
  assert.equal(text('${env:B:-fall back}'), 'fall back');
  assert.equal(text('${env:EMPTY:-}'), '');
  assert.equal(text('${env:EMPTY:-d}'), 'd');
  assert.equal(text('Bearer ${file:key}'), 'Bearer s3cret ${env:A}');
  assert.equal(text('$${env:A} costs 5$'), '${env:A} costs 5$');
});

test('what cannot be replaced is a problem that holds no value', () => {
  assert.match(problem('${env:MISSING}'), /MISSING, which is not set: export it first, or .*\$\{env:MISSING:-…\}$/);
  assert.match(problem('${env:EMPTY}'), /EMPTY, which is not set/);
  assert.match(problem('${file:nowhere}'), /does not exist/);
  assert.match(problem('${file:binary}'), /not UTF-8/);
  assert.match(problem('${ENV:A}'), /knows \$\{env:NAME\}/);
  assert.match(problem('${env:A'), /without a closing brace/);
  assert.equal(files.seen.get(path.join(dir, 'nowhere')), null);
  assert.equal(files.seen.get(path.join(dir, 'key')), 's3cret ${env:A}\n');
});
