import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { toError } from '../lib/error/to-error.ts';
import { StartupError } from './startup-error.ts';

/** Makes a folder and those above it. `key`: the setting or option that names it. Throws `StartupError` where it cannot be made or written to. */
export function makeFolder(path: string, { key, mode }: { readonly key: string; readonly mode?: number }): void {
  const attempt = (fault: string, work: () => void): void => {
    try {
      work();
    } catch (cause) {
      const { code, message }: NodeJS.ErrnoException = toError(cause);
      throw new StartupError(`the folder ${path} ${fault} (${code ?? message}): choose another ${key}`, { cause });
    }
  };
  attempt('cannot be made', () => mkdirSync(path, { recursive: true, ...(mode === undefined ? {} : { mode }) }));
  const isOurs = process.getuid === undefined || statSync(path).uid === process.getuid();
  attempt(isOurs ? 'cannot be written to' : 'belongs to another user', () =>
    accessSync(path, constants.W_OK | constants.X_OK),
  );
}
