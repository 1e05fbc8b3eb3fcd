import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE, withLock } from '../../scripts/cache.mjs';
import { npm } from '../../scripts/fetch.mjs';

/** Written last: a folder with it is whole. */
const WHOLE = 'installed';

/** Where a version of a peer is kept. */
export function peerFolder(name: string, version: string): string {
  return join(CACHE, 'peers', `${name}-${version}`);
}

/** Was `fillFolder` done with it? */
export function isWhole(folder: string): boolean {
  return existsSync(join(folder, WHOLE));
}

/** Fills an empty folder in place, since a Python environment does not bear being moved. One process at a time. */
export async function fillFolder(folder: string, fill: () => Promise<void>): Promise<void> {
  await withLock('peers', async () => {
    if (isWhole(folder)) return;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    await fill();
    writeFileSync(join(folder, WHOLE), '');
  });
}

/** Fills an empty folder with the npm packages of a lock file. `source`: the folder of `package.json` and `package-lock.json`. */
export async function fillWithPackages(folder: string, source: string): Promise<void> {
  await fillFolder(folder, async () => {
    for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(source, file), join(folder, file));
    await npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], folder);
  });
}
