/** What the steps of the set-up share: one at a time for a name, programs that are run, and packages of npm. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { onPath, SetupError, withLock } from './cache.mjs';

/**
 * Does some work unless it is done already, and says how long it took.
 * @param {string} name
 * @param {() => boolean} done
 * @param {() => Promise<void>} work
 */
export async function step(name, done, work) {
  const start = performance.now();
  await withLock(name, async () => {
    if (done()) return;
    await work();
  });
  process.stderr.write(`setup: ${name} ready in ${((performance.now() - start) / 1000).toFixed(1)} s\n`);
}

/**
 * Runs npm.
 * @param {string[]} args
 * @param {string} cwd
 * @param {number} [limitMs]
 */
export async function npm(args, cwd, limitMs) {
  const cli = process.env['npm_execpath'];
  if (cli?.endsWith('npm-cli.js')) return run(process.execPath, [cli, ...args], cwd, limitMs);
  const bin = onPath('npm');
  if (bin === null) throw new SetupError('npm is not on PATH');
  return run(bin, args, cwd, limitMs);
}

/**
 * Runs a program to its end. Throws `SetupError` with its last words, or when it takes longer than `limitMs`.
 * @param {string} command
 * @param {string[]} args
 * @param {string} cwd
 * @param {number} [limitMs]
 * @returns {Promise<void>}
 */
export function run(command, args, cwd, limitMs = 0) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: plainEnv(),
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: limitMs,
    });
    let errors = '';
    child.stderr.on('data', (chunk) => (errors = (errors + chunk).slice(-4000)));
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) return resolve();
      if (code === null && limitMs > 0)
        return reject(new SetupError(`${path.basename(command)} was not done after ${limitMs / 1000} s`));
      const last = errors.trim().split('\n').slice(-3).join(' | ');
      return reject(
        new SetupError(`${path.basename(command)} ${args.slice(0, 3).join(' ')} failed (${code}): ${last}`),
      );
    });
  });
}

/** The outer `npm run` hands its own settings down by environment; an inner npm must read the files instead. */
function plainEnv() {
  return Object.fromEntries(
    Object.entries(process.env).filter(([key]) => !/^npm_(lifecycle|package|command)/.test(key)),
  );
}

/**
 * Puts one package of npm, with what it needs, into a folder; no script of it is run.
 * @param {string} folder
 * @param {string} wanted `name@version`
 * @param {number} [limitMs]
 */
export async function npmInto(folder, wanted, limitMs) {
  const quiet = ['--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  await npm(['install', ...quiet, '--prefix', folder, wanted], folder, limitMs);
}
