import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openLineSink } from './line-sink.ts';

function inFolder(run: (path: string) => Promise<void> | void) {
  return async (): Promise<void> => {
    const dir = mkdtempSync(join(tmpdir(), 'tokenlat-lines-'));
    try {
      await run(join(dir, 'log'));
    } finally {
      rmSync(dir, { recursive: true });
    }
  };
}

test(
  'ordinary lines wait for others, and not for long',
  inFolder(async (path) => {
    const sink = openLineSink(path);
    sink.write('one\n', false);
    sink.write('two\n', false);
    assert.equal(readFileSync(path, 'utf8'), '');
    for (let tries = 0; tries < 100 && readFileSync(path, 'utf8') === ''; tries += 1) await sleep(5);
    assert.equal(readFileSync(path, 'utf8'), 'one\ntwo\n');
  }),
);

test(
  'an urgent line goes at once and takes along what waits, in order; so does a full buffer',
  inFolder((path) => {
    const sink = openLineSink(path);
    sink.write('one\n', false);
    sink.write('two\n', true);
    assert.equal(readFileSync(path, 'utf8'), 'one\ntwo\n');
    sink.write(`${'x'.repeat(20_000)}\n`, false);
    assert.equal(readFileSync(path, 'utf8').length, 8 + 20_001);
  }),
);

test('a process that ends writes what waits, to its standard output too', () => {
  const program = `
    import { openLineSink } from ${JSON.stringify(new URL('line-sink.ts', import.meta.url).href)};
    openLineSink().write('last words\\n', false);
    process.exit(0);`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' });
  assert.equal(stdout, 'last words\n');
});
