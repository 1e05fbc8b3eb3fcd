import { fillWithPackages, peerFolder } from '../peer-folder.ts';

/** As in `package.json` beside this file. */
export const VERSION = '1.15.2';

export const FOLDER = peerFolder('portkey', VERSION);

/**
 * Fetches Portkey's gateway as the lock file here says. With `@hono/node-server` of 1.14 and later, which its own range allows, every
 * stream fails (issue 1389 of its repository): an older one is pinned.
 */
export async function install(): Promise<void> {
  await fillWithPackages(FOLDER, import.meta.dirname);
}
