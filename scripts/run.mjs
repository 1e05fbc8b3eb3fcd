/** `node scripts/run.mjs NAME [args]`: fetches what is missing, then runs a script of the table on Node 24. */
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ROOT, SetupError } from './cache.mjs';
import { asksHelp } from './command-line.mjs';
import { ensureAll, ensureNode, ensurePackages } from './setup.mjs';

/** @type {Record<string, { script: string, servers: boolean, browser?: boolean }>} `servers`: needs Envoy and Redis */
const TABLE = {
  demo: { script: 'scripts/demo/main.ts', servers: true },
  test: { script: 'scripts/test.ts', servers: true, browser: true },
  bench: { script: 'bench/main.ts', servers: true },
  quality: { script: 'bench/quality/main.ts', servers: false },
  sim: { script: 'bench/sim/main.ts', servers: false },
  chaos: { script: 'scripts/chaos/main.ts', servers: true },
  tokenlat: { script: 'src/cli/main.ts', servers: true },
  check: { script: 'scripts/check.mjs', servers: false },
  build: { script: 'scripts/build.mjs', servers: false },
};

const [name = '', ...args] = process.argv.slice(2);
const entry = TABLE[name];
if (entry === undefined) {
  process.stderr.write(`usage: node scripts/run.mjs ${Object.keys(TABLE).join('|')} [args]\n`);
  process.exit(2);
}
if (!fs.existsSync(path.join(ROOT, entry.script))) {
  process.stderr.write(`${name}: ${entry.script} does not exist\n`);
  process.exit(2);
}

try {
  // Help needs no servers.
  const tools =
    entry.servers && !asksHelp(args) ? await ensureAll({ browser: entry.browser === true }) : await ensureTools();
  start(tools, path.join(ROOT, entry.script));
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  process.stderr.write(`setup: ${error.message}\n`);
  process.exitCode = 1;
}

async function ensureTools() {
  const node = await ensureNode();
  await ensurePackages();
  return { node, envoy: null, redis: null, chromium: null };
}

/**
 * @param {import('./setup.mjs').Tools} tools
 * @param {string} script
 */
function start(tools, script) {
  const folders = [path.dirname(tools.node), path.join(ROOT, 'node_modules', '.bin'), process.env['PATH'] ?? ''];
  const env = { ...process.env, PATH: folders.join(path.delimiter) };
  if (tools.envoy !== null) Object.assign(env, { TOKENLAT_ENVOY_BIN: tools.envoy });
  if (tools.redis !== null) Object.assign(env, { TOKENLAT_REDIS_BIN: tools.redis });
  if (tools.chromium !== null) Object.assign(env, { TOKENLAT_CHROMIUM: tools.chromium });
  // npm starts scripts in the folder of the package, and tells where it was called.
  const cwd = name === 'tokenlat' ? (process.env['INIT_CWD'] ?? process.cwd()) : process.cwd();
  const child = spawn(tools.node, [script, ...args], { cwd, env, stdio: 'inherit' });
  // A terminal sends Ctrl-C to the whole group, so the child has it already; a second one would mean "at once".
  const terminal = process.stdin.isTTY || process.stdout.isTTY;
  process.removeAllListeners('SIGINT').removeAllListeners('SIGTERM');
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => {
      if (!terminal || signal === 'SIGTERM') child.kill(signal);
    });
  }
  // npm does not pass on that it was killed: without this, servers would stay behind.
  const parent = process.ppid;
  const orphaned = setInterval(() => {
    if (process.ppid !== parent) child.kill('SIGTERM');
  }, 500);
  orphaned.unref();
  child.once('error', (error) => {
    process.stderr.write(`${name}: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.once('close', (code, signal) => {
    process.exit(code ?? 128 + (signal === null ? 0 : os.constants.signals[signal]));
  });
}
