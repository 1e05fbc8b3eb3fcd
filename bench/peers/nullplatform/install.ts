import { fillWithPackages, peerFolder } from '../peer-folder.ts';

/** As in `package.json` beside this file. */
export const VERSION = '2.0.11';

export const FOLDER = peerFolder('nullplatform', VERSION);

/**
 * Fetches nullplatform's gateway as the lock file here says. Its SDK asks for a version of itself that was never published: an
 * override names the one that was.
 */
export async function install(): Promise<void> {
  await fillWithPackages(FOLDER, import.meta.dirname);
}
