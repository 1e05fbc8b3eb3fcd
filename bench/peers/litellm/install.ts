import { join } from 'node:path';
import { onPath, SetupError } from '../../../scripts/cache.mjs';
import { run } from '../../../scripts/fetch.mjs';
import { fillFolder, peerFolder } from '../peer-folder.ts';

/** As in `requirements.txt` beside this file. */
export const VERSION = '1.93.0';

export const FOLDER = peerFolder('litellm', VERSION);

/** Python of LiteLLM's own environment. */
export const PYTHON = join(FOLDER, 'venv', 'bin', 'python');

/** Makes a Python environment with the LiteLLM proxy and the versions that `requirements.txt` here pins (about 650 MB). */
export async function install(): Promise<void> {
  const python = onPath('python3');
  if (python === null) throw new SetupError('litellm: needs python3 with venv and pip');
  await fillFolder(FOLDER, async () => {
    await run(python, ['-m', 'venv', join(FOLDER, 'venv')], FOLDER);
    const quiet = ['--quiet', '--disable-pip-version-check', '--no-input', '--no-deps'];
    await run(PYTHON, ['-m', 'pip', 'install', ...quiet, '-r', join(import.meta.dirname, 'requirements.txt')], FOLDER);
  });
}
