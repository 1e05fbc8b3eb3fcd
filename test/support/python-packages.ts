import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { CACHE, ROOT } from '../../scripts/cache.mjs';

/**
 * The folder with the packages that `requirements` pins, for `PYTHONPATH`; made once for each version of the list. Throws with
 * what pip said.
 */
export function pythonPackages(name: string, requirements: string): string {
  const version = spawnSync('python3', ['-c', 'import sys; print(*sys.version_info[:2], sep=".")'], {
    encoding: 'utf8',
  });
  assert.equal(version.status, 0, 'this test needs python3 (3.9 or newer) on PATH');
  const hash = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12);
  const folder = path.join(CACHE, `python-${name}-${version.stdout.trim()}-${hash}`);
  if (existsSync(folder)) return folder;
  const next = `${folder}.${process.pid}`;
  mkdirSync(next, { recursive: true });
  const quiet = ['--quiet', '--disable-pip-version-check', '--no-deps', '--only-binary', ':all:'];
  const pip = ['-m', 'pip', 'install', ...quiet, '--target', next, '--requirement', requirements];
  const installed = spawnSync('python3', pip, { encoding: 'utf8', timeout: 180_000 });
  if (installed.status !== 0) rmSync(next, { recursive: true, force: true });
  const list = path.relative(ROOT, requirements);
  assert.equal(installed.status, 0, `pip could not install ${list} (python3 -m pip is needed):\n${installed.stderr}`);
  renameSync(next, folder);
  return folder;
}
