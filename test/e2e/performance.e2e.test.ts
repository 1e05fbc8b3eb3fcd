import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

/*
 * Keeps what a request costs from growing unseen: TokenLat beside the bare echo, whose cost on the same machine at the same time is
 * the measure, against the same ratio in docs/performance.json.
 */

const ROOT = join(import.meta.dirname, '../..');

/** Wide: the machine may be busy, and a short run has not compiled as well as a long one. */
const MARGIN = 2.5;

const FIGURES = ['ext_proc_cpu_plain', 'ext_proc_cpu_stream100'] as const;

type Ratios = Readonly<Record<string, Readonly<Record<string, number>>>>;

test('a request costs about what docs/performance.json says, measured against the bare echo', async (context) => {
  const dir = mkdtempSync(join(tmpdir(), 'tokenlat-performance-'));
  const file = join(dir, 'results.json');
  const args = '--quick --no-write --rounds 2 --only plain,stream100 --setups echo,tokenlat --json';
  await promisify(execFile)(process.execPath, [join(ROOT, 'bench/main.ts'), ...args.split(' '), file], { cwd: ROOT });
  const measured = ratiosOf(file);
  const known = ratiosOf(join(ROOT, 'docs/performance.json'));
  rmSync(dir, { recursive: true });
  for (const name of FIGURES) {
    const now = measured['echo']?.[name] ?? Number.NaN;
    const before = known['echo']?.[name] ?? Number.NaN;
    context.diagnostic(`echo.${name}: ${now.toFixed(2)}, in docs/performance.json ${before.toFixed(2)}`);
    assert.ok(now <= before * MARGIN, `echo.${name} is ${now.toFixed(2)}, and was ${before.toFixed(2)}`);
  }
});

function ratiosOf(file: string): Ratios {
  return (JSON.parse(readFileSync(file, 'utf8')) as { ratios: Ratios }).ratios;
}
