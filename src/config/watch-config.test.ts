import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Snapshot } from '../core/snapshot.ts';
import { loadConfig } from './load-config.ts';
import type { Problem } from './problem.ts';
import { watchConfig } from './watch-config.ts';

const text = (port: number) => `version: 1
listen: {port: ${port}}
auth: {api_keys: [{name: k, key: "\${file:secret}", tenant: t}]}
backends: [{name: b, endpoints: [{url: "http://10.0.0.1"}]}]
models: [{name: m, deployments: [{backend: b}]}]
`;

function start(t: TestContext, file: string, onChange: (made: Snapshot) => void = () => {}) {
  const options = { path: file, checkMatch: () => null, dialects: ['openai'], env: {} };
  const first = loadConfig({ ...options, generation: 1 });
  assert.ok(first.ok);
  const changes: Snapshot[] = [];
  const problems: (readonly Problem[])[] = [];
  const watch = watchConfig({
    ...options,
    current: first.snapshot,
    files: first.files.keys(),
    pollMs: 400,
    onChange: (made) => {
      changes.push(made);
      onChange(made);
    },
    onProblem: (found) => problems.push(found),
  });
  t.after(() => watch.close());
  return { first: first.snapshot, changes, problems };
}

function folder(t: TestContext): string {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-watch-'));
  t.after(() => fs.rmSync(dir, { recursive: true }));
  fs.writeFileSync(path.join(dir, 'secret'), 'a'.repeat(32));
  fs.writeFileSync(path.join(dir, 'tokenlat.yaml'), text(1000));
  return dir;
}

async function until(done: () => boolean, within: number): Promise<void> {
  const end = performance.now() + within;
  while (!done()) {
    assert.ok(performance.now() < end, `not within ${within} ms`);
    await sleep(20);
  }
}

test('a change is taken over within a second', async (t) => {
  const dir = folder(t);
  const { changes, problems } = start(t, path.join(dir, 'tokenlat.yaml'));
  fs.writeFileSync(path.join(dir, 'tokenlat.yaml'), text(1001));
  await until(() => changes.length === 1, 1000);
  assert.equal(changes[0]?.listen.port, 1001);
  assert.equal(changes[0]?.generation, 2);
  fs.writeFileSync(path.join(dir, 'next'), text(1002));
  fs.renameSync(path.join(dir, 'next'), path.join(dir, 'tokenlat.yaml'));
  await until(() => changes.length === 2, 1000);
  assert.equal(changes[1]?.generation, 3);
  assert.deepEqual(problems, []);
});

test('a file that is referred to is watched too', async (t) => {
  const dir = folder(t);
  const { first, changes } = start(t, path.join(dir, 'tokenlat.yaml'));
  fs.writeFileSync(path.join(dir, 'secret'), 'b'.repeat(32));
  await until(() => changes.length === 1, 1000);
  assert.notEqual(changes[0]?.auth.apiKeys[0]?.sha256, first.auth.apiKeys[0]?.sha256);
});

test('a bad file keeps the old snapshot; mending it is told', async (t) => {
  const dir = folder(t);
  const file = path.join(dir, 'tokenlat.yaml');
  const { changes, problems } = start(t, file);
  fs.writeFileSync(file, text(1003).slice(0, 60));
  await until(() => problems.length === 1, 1000);
  assert.ok((problems[0]?.length ?? 0) > 0);
  fs.rmSync(file);
  await until(() => problems.length === 2, 1000);
  assert.match(problems[1]?.[0]?.message ?? '', /does not exist/);
  fs.writeFileSync(file, text(1000));
  await until(() => problems.length === 3, 1000);
  assert.deepEqual(problems[2], []);
  assert.deepEqual(changes, []);
});

test('the link swap of a Kubernetes volume is seen within two seconds', async (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tokenlat-volume-'));
  t.after(() => fs.rmSync(dir, { recursive: true }));
  const version = (name: string, port: number) => {
    fs.mkdirSync(path.join(dir, name));
    fs.writeFileSync(path.join(dir, name, 'tokenlat.yaml'), text(port));
    fs.writeFileSync(path.join(dir, name, 'secret'), 'c'.repeat(32));
    fs.symlinkSync(name, path.join(dir, '..tmp'));
    fs.renameSync(path.join(dir, '..tmp'), path.join(dir, '..data'));
  };
  version('..one', 1000);
  fs.symlinkSync('..data/tokenlat.yaml', path.join(dir, 'tokenlat.yaml'));
  fs.symlinkSync('..data/secret', path.join(dir, 'secret'));
  const { changes, problems } = start(t, path.join(dir, 'tokenlat.yaml'));
  version('..two', 1004);
  fs.rmSync(path.join(dir, '..one'), { recursive: true });
  await until(() => changes.length === 1, 2000);
  assert.equal(changes[0]?.listen.port, 1004);
  version('..three', 1005);
  await until(() => changes.length === 2, 2000);
  assert.deepEqual(problems, []);
});

test('a comment is no change, and a callback that throws stops nothing', async (t) => {
  const dir = folder(t);
  const file = path.join(dir, 'tokenlat.yaml');
  const { changes, problems } = start(t, file, (made) => {
    if (made.listen.port === 1006) throw new Error('cannot');
  });
  fs.writeFileSync(file, `# a comment\n${text(1000)}`);
  await sleep(700);
  assert.deepEqual([changes.length, problems.length], [0, 0]);
  fs.writeFileSync(file, text(1006));
  await until(() => problems.length === 1, 1000);
  assert.match(problems[0]?.[0]?.message ?? '', /could not be taken over: Error: cannot/);
  fs.writeFileSync(file, text(1007));
  await until(() => changes.at(-1)?.listen.port === 1007, 1000);
});
