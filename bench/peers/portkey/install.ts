import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { npm } from '../../../scripts/fetch.mjs';
import { fillFolder, peerFolder } from '../peer-folder.ts';

/** As in `package.json` beside this file. */
export const VERSION = '1.15.2';

export const FOLDER = peerFolder('portkey', VERSION);

/**
 * Fetches Portkey's gateway as the lock file here says. With `@hono/node-server` of 1.14 and later, which its own range allows, every
 * stream fails (issue 1389 of its repository): an older one is pinned.
 */
export async function install(): Promise<void> {
  await fillFolder(FOLDER, async () => {
    for (const file of ['package.json', 'package-lock.json']) {
      copyFileSync(join(import.meta.dirname, file), join(FOLDER, file));
    }
    await npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], FOLDER);
  });
}
