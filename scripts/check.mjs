/** `check [format|lint|types|imports|unused] [--write]`: every static check, or the named ones. */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { rooms } from '../.dependency-cruiser.mjs';
import { ROOT } from './cache.mjs';
import { commandLine, refuseOthers } from './command-line.mjs';

/** @type {Record<string, () => boolean>} */
const CHECKS = {
  format: () => tool('oxfmt', [write ? '--write' : '--check', '.']),
  lint: () => tool('oxlint', ['--type-aware', '--deny-warnings', ...(write ? ['--fix'] : [])]),
  types: () => ['.', 'src/ui/browser'].every((project) => tool('tsc', ['--noEmit', '-p', project])),
  imports: checkImports,
  unused: () => tool('knip', ['--no-progress', '--no-config-hints', '--reporter', 'compact']),
};

const NAMES = Object.keys(CHECKS);

const words = commandLine({
  usage: `npm run check -- [${NAMES.join('|')} …] [--write]`,
  read(all) {
    refuseOthers(all, [...NAMES, '--write']);
    return all;
  },
});
const write = words.includes('--write');
const named = words.filter((word) => word !== '--write');

const failed = [];
for (const [name, check] of Object.entries(CHECKS)) {
  if (named.length > 0 && !named.includes(name)) continue;
  const start = performance.now();
  const ok = check();
  if (!ok) failed.push(name);
  process.stdout.write(
    `check: ${name} ${ok ? 'ok' : 'FAILED'} in ${((performance.now() - start) / 1000).toFixed(1)} s\n`,
  );
}
if (failed.length > 0) process.stdout.write(`check: failed: ${failed.join(', ')}\n`);
process.exitCode = failed.length > 0 ? 1 : 0;

/**
 * @param {string} name
 * @param {string[]} args
 */
function tool(name, args) {
  const bin = path.join(ROOT, 'node_modules', '.bin', name);
  const { status, error } = spawnSync(bin, args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] });
  if (error) process.stderr.write(`${name}: ${error.message}\n`);
  return status === 0;
}

/** A parser that cannot read TypeScript sees no module and finds no fault, so the modules are counted as well. */
function checkImports() {
  const folders = ['src', 'test', 'scripts', 'bench'].filter((folder) => fs.existsSync(path.join(ROOT, folder)));
  const bin = path.join(ROOT, 'node_modules', '.bin', 'depcruise');
  const { stdout, stderr } = spawnSync(
    bin,
    ['--config', '.dependency-cruiser.mjs', '--output-type', 'json', ...folders],
    {
      cwd: ROOT,
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    },
  );
  const problems = [];
  try {
    /** @type {{ modules: { source: string }[], summary: { violations: Violation[] } }} */
    const { modules, summary } = JSON.parse(stdout);
    const seen = new Set(modules.map((module) => module.source));
    const files = sources(folders);
    const unseen = files.filter((file) => !seen.has(file));
    if (unseen.length > 0) problems.push(`${unseen.length} of ${files.length} files not seen, first: ${unseen[0]}`);
    for (const { rule, from, to } of summary.violations) problems.push(`${rule.name}: ${from} -> ${to}`);
    process.stdout.write(`imports: ${files.length} files, ${modules.length} modules\n`);
  } catch (error) {
    problems.push(`no answer from depcruise: ${stderr || String(error)}`);
  }
  for (const room of unknownRooms()) problems.push(`src/${room} is not in the import table of .dependency-cruiser.mjs`);
  for (const problem of problems) process.stdout.write(`imports: ${problem}\n`);
  return problems.length === 0;
}

/** @typedef {{ rule: { name: string }, from: string, to: string }} Violation */

/** @param {string[]} folders */
function sources(folders) {
  return folders
    .flatMap((folder) =>
      fs.readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
    )
    .filter((file) => /\.(ts|mjs)$/.test(file) && !file.endsWith('.d.ts'))
    .filter((file) => fs.statSync(path.join(ROOT, file)).isFile());
}

function unknownRooms() {
  const src = path.join(ROOT, 'src');
  if (!fs.existsSync(src)) return [];
  return fs
    .readdirSync(src, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !(entry.name in rooms))
    .map((entry) => entry.name);
}
