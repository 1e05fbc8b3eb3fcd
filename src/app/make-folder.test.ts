import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { makeFolder } from './make-folder.ts';
import { StartupError } from './startup-error.ts';

const dir = mkdtempSync(join(tmpdir(), 'tokenlat-folder-'));
after(() => rmSync(dir, { recursive: true, force: true }));

const told = (path: string): string => {
  try {
    makeFolder(path, { key: 'server.socket_dir' });
  } catch (error) {
    assert.ok(error instanceof StartupError);
    return error.message;
  }
  return '';
};

test('a folder is made with those above it, and may be there already', () => {
  makeFolder(join(dir, 'a/b'), { key: '--state', mode: 0o700 });
  makeFolder(join(dir, 'a/b'), { key: '--state', mode: 0o700 });
  assert.equal(statSync(join(dir, 'a/b')).mode & 0o777, 0o700);
});

test('one that cannot be made is told with why and what names it', () => {
  const file = join(dir, 'file');
  writeFileSync(file, '');
  assert.equal(
    told(join(file, 'x')),
    `the folder ${join(file, 'x')} cannot be made (ENOTDIR): choose another server.socket_dir`,
  );
});

test('so is one that may not be written to', { skip: process.getuid?.() === 0 && 'root may write anywhere' }, () => {
  const path = join(dir, 'closed');
  makeFolder(path, { key: '--state' });
  chmodSync(path, 0o500);
  assert.equal(told(path), `the folder ${path} cannot be written to (EACCES): choose another server.socket_dir`);
  assert.match(told(join(path, 'x')), /cannot be made \(EACCES\)/);
});
