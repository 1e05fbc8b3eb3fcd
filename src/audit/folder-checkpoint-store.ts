import { mkdir, open, readdir, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { CheckpointStore } from '../core/ports/audit.ts';
import { parseChain } from './names.ts';

const SUFFIX = '.checkpoints';
/** Above this size the oldest lines are let go of. */
const TRIM_BYTES = 4 * 1024 * 1024;
const KEEP_LINES = 1000;

/** Checkpoints in a folder, best one that other machines own: `<chain>.checkpoints`, one a line, appended and synced. */
export function createFolderCheckpointStore({ dir }: { readonly dir: string }): CheckpointStore {
  const pathOf = (chain: string): string => {
    if (parseChain(chain) === null) throw new RangeError('not the name of a chain');
    return join(dir, chain + SUFFIX);
  };
  return {
    name: 'folder',
    append: async (chain, checkpoint) => {
      const path = pathOf(chain);
      await mkdir(dir, { recursive: true, mode: 0o700 });
      const size = await stat(path).then(
        (found) => found.size,
        () => 0,
      );
      if (size > TRIM_BYTES) await trim(path);
      await appendLine(path, checkpoint, size);
    },
    list: async (chain) => lines(await readFile(pathOf(chain), 'utf8').catch(ifMissing(''))),
    chains: async () => {
      const files = await readdir(dir).catch(ifMissing<string[]>([]));
      const chains = files.filter((file) => file.endsWith(SUFFIX)).map((file) => file.slice(0, -SUFFIX.length));
      return chains.filter((chain) => parseChain(chain) !== null).toSorted();
    },
    close: async () => {},
  };
}

async function appendLine(path: string, text: string, size: number): Promise<void> {
  const file = await open(path, 'a+', 0o600);
  try {
    // A line torn by a crash is ended first, or it would swallow this one.
    const last = Buffer.alloc(1, '\n');
    if (size > 0) await file.read(last, 0, 1, size - 1);
    await file.writeFile(`${last.toString() === '\n' ? '' : '\n'}${text}\n`);
    await file.datasync();
  } finally {
    await file.close();
  }
}

async function trim(path: string): Promise<void> {
  const kept = lines(await readFile(path, 'utf8')).slice(-KEEP_LINES);
  const next = await open(`${path}.new`, 'w', 0o600);
  try {
    await next.writeFile(`${kept.join('\n')}\n`);
    await next.sync();
  } finally {
    await next.close();
  }
  await rename(`${path}.new`, path);
}

/** A line without its end is one that a crash tore: it was never acknowledged. */
function lines(text: string): string[] {
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line.endsWith('}'));
}

function ifMissing<T>(instead: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === 'ENOENT') return instead;
    throw error;
  };
}
