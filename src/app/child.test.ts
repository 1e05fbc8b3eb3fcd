import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { startChild } from './child.ts';
import { StartupError } from './startup-error.ts';
import { waitUntil } from './wait-until.ts';

const dir = mkdtempSync(join(tmpdir(), 'tl-child-'));
after(() => rmSync(dir, { recursive: true }));
let logs = 0;

function options(script: string, stopMs = 2000) {
  const exits: string[] = [];
  const logFile = join(dir, `${(logs += 1)}.log`);
  const start = () =>
    startChild({
      name: 'Thing',
      command: '/bin/sh',
      args: ['-c', script],
      logFile,
      stopMs,
      onExit: (reason) => exits.push(reason),
    });
  return { exits, logFile, start, text: () => (existsSync(logFile) ? readFileSync(logFile, 'utf8') : '') };
}

const alive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test('what a program says goes to its log, which is for its owner alone', async () => {
  const { start, text, logFile, exits } = options('echo out; echo err >&2; exec sleep 30');
  const child = await start();
  assert.ok(await waitUntil(() => text().length === 8, { timeoutMs: 2000 }));
  assert.equal(statSync(logFile).mode & 0o777, 0o600);
  assert.deepEqual([alive(child.pid), exits], [true, []]);
  await child.stop();
  assert.deepEqual(exits, [], 'an end that we asked for is no news');
  assert.equal(alive(child.pid), false);
  await child.stop();
});

test('an exit that nobody asked for is told, with its code or its signal', async () => {
  for (const [script, why] of [
    ['exit 3', 'exit code 3'],
    ['kill -9 $$', 'SIGKILL'],
  ] as const) {
    const { start, exits, logFile } = options(script);
    const child = await start();
    assert.ok(await waitUntil(() => exits.length > 0, { timeoutMs: 2000 }));
    assert.deepEqual(exits, [`Thing ended by itself (${why}); its log is ${logFile}`]);
    await child.stop();
    assert.equal(exits.length, 1);
  }
});

test('a program that does not listen to SIGTERM is killed after its grace', async () => {
  const { start, text, exits } = options(`trap '' TERM; echo ready; while :; do sleep 0.05; done`, 150);
  const child = await start();
  await waitUntil(() => text().includes('ready'), { timeoutMs: 2000 });
  const began = performance.now();
  await Promise.all([child.stop(), child.stop()]);
  const took = performance.now() - began;
  assert.ok(took >= 140 && took < 5000, `${took} ms`);
  assert.deepEqual([alive(child.pid), exits], [false, []]);
});

test('words that come after the exit still reach the log', async () => {
  const { start, text, exits } = options('(sleep 0.1; echo late) & exit 3');
  await start();
  assert.ok(await waitUntil(() => text().includes('late'), { timeoutMs: 2000 }));
  assert.equal(exits.length, 1);
});

test('a program that is not there cannot be started', async () => {
  const exits: string[] = [];
  await assert.rejects(
    startChild({
      name: 'Thing',
      command: join(dir, 'nowhere'),
      args: [],
      logFile: join(dir, 'none.log'),
      stopMs: 1,
      onExit: (reason) => exits.push(reason),
    }),
    (error) => error instanceof StartupError && /^cannot start Thing: .*ENOENT/.test(error.message),
  );
  assert.deepEqual(exits, []);
});

test('a log that cannot be written is told', async () => {
  const exits: string[] = [];
  const child = await startChild({
    name: 'Thing',
    command: '/bin/sh',
    args: ['-c', 'exec sleep 30'],
    logFile: join(dir, 'no', 'such', 'folder.log'),
    stopMs: 1000,
    onExit: (reason) => exits.push(reason),
  });
  assert.ok(await waitUntil(() => exits.length > 0, { timeoutMs: 2000 }));
  assert.match(exits[0] ?? '', /the log of Thing cannot be written/);
  await child.stop();
});
