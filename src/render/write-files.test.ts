import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { writeFiles } from './write-files.ts';

const dir = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-write-')), 'new');
after(() => fs.rmSync(path.dirname(dir), { recursive: true }));

test('files are replaced by renames, and only when they change', () => {
  const files = new Map([
    ['endpoints-a.yaml', '1'],
    ['envoy.yaml', '2'],
  ]);
  assert.deepEqual(writeFiles(dir, files), ['endpoints-a.yaml', 'envoy.yaml']);
  const { ino } = fs.statSync(path.join(dir, 'envoy.yaml'));
  assert.deepEqual(writeFiles(dir, files), []);
  assert.equal(fs.statSync(path.join(dir, 'envoy.yaml')).ino, ino);
  fs.writeFileSync(path.join(dir, 'other.yaml'), 'mine');
  const held = fs.openSync(path.join(dir, 'envoy.yaml'), 'r');
  assert.deepEqual(writeFiles(dir, new Map([['envoy.yaml', '3']])), ['envoy.yaml']);
  // Whoever had the old file open still reads the old file, whole.
  assert.equal(fs.readFileSync(held, 'utf8'), '2');
  fs.closeSync(held);
  assert.deepEqual(fs.readdirSync(dir).toSorted(), ['envoy.yaml', 'other.yaml']);
});

test('a folder that cannot be written is an error and leaves nothing behind', () => {
  fs.mkdirSync(path.join(dir, 'taken.yaml'));
  assert.throws(() => writeFiles(dir, new Map([['taken.yaml', 'x']])));
  assert.ok(!fs.readdirSync(dir).some((name) => name.startsWith('.')));
});
