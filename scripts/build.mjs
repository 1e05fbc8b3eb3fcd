/** Compiles `src/` to `dist/` and copies what the code reads at run time beside it. */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from './cache.mjs';
import { commandLine, refuseOthers } from './command-line.mjs';

commandLine({ usage: 'npm run build', read: (words) => refuseOthers(words, []) });

const ASSET = /\.(lua|jinja|proto|html|css|svg)$/;
const src = path.join(ROOT, 'src');
const dist = path.join(ROOT, 'dist');

fs.rmSync(dist, { recursive: true, force: true });
const tsc = path.join(ROOT, 'node_modules', '.bin', 'tsc');
// What runs in browsers knows a document, and nothing of Node.
for (const project of ['tsconfig.build.json', 'tsconfig.build-ui.json']) {
  const { status } = spawnSync(tsc, ['-p', project], { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) process.exit(1);
}

const assets = fs.readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => ASSET.test(file));
for (const file of assets) {
  fs.mkdirSync(path.dirname(path.join(dist, file)), { recursive: true });
  fs.copyFileSync(path.join(src, file), path.join(dist, file));
}

const main = path.join(dist, 'cli', 'main.js');
if (fs.existsSync(main)) fs.chmodSync(main, 0o755);
process.stdout.write(`build: dist/ with ${assets.length} assets\n`);
