import { createHash, randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export const ROOT = path.resolve(import.meta.dirname, '..');
export const CACHE = path.join(ROOT, '.cache');

/** A reason a person can act on; printed as one line, without a stack. */
export class SetupError extends Error {}

/** Files and folders that must not outlive this process, however it ends. */
const leftovers = new Set();
let guarded = false;

function guard() {
  if (guarded) return;
  guarded = true;
  process.on('exit', () => {
    for (const file of leftovers) fs.rmSync(file, { recursive: true, force: true });
  });
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
}

/**
 * Runs `work` while no other process runs work of the same name. A lock whose owner is gone is taken over.
 * @template T
 * @param {string} name
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(name, work) {
  guard();
  fs.mkdirSync(CACHE, { recursive: true });
  const lock = path.join(CACHE, `${name}.lock`);
  const mine = `${lock}.${randomUUID()}`;
  fs.writeFileSync(mine, String(process.pid));
  leftovers.add(mine);
  try {
    await acquire(lock, mine);
    leftovers.add(lock);
    sweep(lock);
    return await work();
  } finally {
    if (leftovers.delete(lock)) fs.rmSync(lock, { force: true });
    fs.rmSync(mine, { force: true });
    leftovers.delete(mine);
  }
}

/**
 * `link` makes the lock appear whole, with its owner inside, or not at all.
 * @param {string} lock
 * @param {string} mine
 */
async function acquire(lock, mine) {
  for (;;) {
    try {
      fs.linkSync(mine, lock);
      return;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
    if (!dropStale(lock)) await sleep(150);
  }
}

/**
 * @param {string} lock
 * @returns {boolean} true when the lock is free to be tried again at once
 */
function dropStale(lock) {
  const owner = read(lock);
  if (owner === null) return true;
  if (isAlive(Number(owner))) return false;
  const aside = `${lock}.${randomUUID()}`;
  try {
    fs.renameSync(lock, aside);
  } catch {
    return true;
  }
  // Another process may have taken the stale lock over between the look and the rename: give it back.
  if (read(aside) !== owner) {
    try {
      fs.linkSync(aside, lock);
    } catch {
      // A third process holds it by now.
    }
  }
  fs.rmSync(aside, { force: true });
  return true;
}

/**
 * Removes what waiters left that were killed.
 * @param {string} lock
 */
function sweep(lock) {
  const prefix = `${path.basename(lock)}.`;
  for (const entry of fs.readdirSync(CACHE).filter((name) => name.startsWith(prefix))) {
    const file = path.join(CACHE, entry);
    const owner = read(file);
    if (owner !== null && owner !== '' && !isAlive(Number(owner))) fs.rmSync(file, { force: true });
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/**
 * Makes a folder of the cache whole or not at all: `fill` writes into a temporary folder, which is then renamed.
 * Call it under the lock of the same name.
 * @param {string} name
 * @param {(folder: string) => Promise<void> | void} fill
 */
export async function makeFolder(name, fill) {
  guard();
  const prefix = `tmp-${name}-`;
  for (const entry of fs.readdirSync(CACHE)) {
    if (entry.startsWith(prefix)) fs.rmSync(path.join(CACHE, entry), { recursive: true, force: true });
  }
  const temporary = fs.mkdtempSync(path.join(CACHE, prefix));
  leftovers.add(temporary);
  try {
    await fill(temporary);
    fs.chmodSync(temporary, 0o755);
    const target = path.join(CACHE, name);
    fs.rmSync(target, { recursive: true, force: true });
    fs.renameSync(temporary, target);
  } finally {
    fs.rmSync(temporary, { recursive: true, force: true });
    leftovers.delete(temporary);
  }
}

/**
 * Writes a file whole or not at all, and leaves it alone when it has this content already.
 * @param {string} file
 * @param {string} text
 */
export function writeWhole(file, text) {
  if (read(file) === text) return;
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const temporary = `${file}.${randomUUID()}`;
  fs.writeFileSync(temporary, text);
  fs.renameSync(temporary, file);
}

/**
 * @param {string} file
 * @returns {string | null}
 */
export function read(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

/** @param {string} file */
export function sha256(file) {
  return createHash('sha256').update(fs.readFileSync(file)).digest('hex');
}

/**
 * The first executable of this name on PATH, or null.
 * @param {string} name
 */
export function onPath(name) {
  for (const folder of (process.env['PATH'] ?? '').split(path.delimiter)) {
    const file = path.join(folder, name);
    if (folder !== '' && isExecutable(file)) return file;
  }
  return null;
}

/** @param {string} file */
export function isExecutable(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** @param {unknown} error */
function codeOf(error) {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
