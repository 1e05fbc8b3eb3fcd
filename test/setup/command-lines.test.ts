import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '../..');

interface Ended {
  readonly code: number | string;
  readonly out: string;
  readonly err: string;
}

async function run(script: string, ...words: readonly string[]): Promise<Ended> {
  return await runWith({}, script, ...words);
}

async function runWith(env: NodeJS.ProcessEnv, script: string, ...words: readonly string[]): Promise<Ended> {
  return await new Promise((resolve) => {
    const options = { timeout: 30_000, env: { ...process.env, ...env } };
    execFile(process.execPath, [join(ROOT, script), ...words], options, (error, out, err) =>
      resolve({ code: error === null ? 0 : (error.code ?? 'killed'), out, err }),
    );
  });
}

for (const [script, name] of [
  ['bench/main.ts', 'bench'],
  ['bench/quality/main.ts', 'quality'],
  ['bench/sim/main.ts', 'sim'],
  ['scripts/build.mjs', 'build'],
  ['scripts/chaos/main.ts', 'chaos'],
  ['scripts/check.mjs', 'check'],
  ['scripts/demo/main.ts', 'demo'],
] as const)
  test(`npm run ${name}: help is an answer, and words that are off are told in one line`, async () => {
    const help = await run(script, '--help');
    assert.deepEqual([help.code, help.err], [0, '']);
    assert.match(help.out, new RegExp(`^usage: npm run ${name}\\b`));
    const bogus = await run(script, '--bogus');
    assert.deepEqual([bogus.code, bogus.out], [2, '']);
    assert.match(bogus.err, /^\S.*\n$/);
  });

test('npm test: help is an answer', async () => {
  const { code, out } = await run('scripts/test.ts', '-h');
  assert.equal(code, 0);
  assert.match(out, /^usage: npm test/);
});

test('names and numbers that are off are told in one line too', async () => {
  for (const [script, ...words] of [
    ['bench/main.ts', '--quick', '--only', 'nothing'],
    ['bench/main.ts', '--rounds', '0'],
    ['bench/sim/main.ts', '--only', 'nothing'],
    ['bench/sim/main.ts', '--seeds', 'many'],
  ] as const) {
    const { code, err } = await run(script, ...words);
    assert.equal(code, 2, `${script} ${words.join(' ')}`);
    assert.match(err, /^--\w+: .*\n$/);
  }
});

test('npm run tokenlat: names of files mean the folder of the caller', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'tokenlat-caller-'));
  try {
    copyFileSync(join(ROOT, 'examples/minimal.yaml'), join(dir, 'of-the-caller.yaml'));
    const env = { INIT_CWD: dir, TOKENLAT_KEY: 'a'.repeat(48) };
    const check = ['tokenlat', 'config', 'check', 'of-the-caller.yaml'] as const;
    const { code, out, err } = await runWith(env, 'scripts/run.mjs', ...check);
    assert.equal(code, 0, err);
    assert.match(out, /^of-the-caller\.yaml: fit to run/);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
