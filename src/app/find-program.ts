import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Path of an executable: from the first environment variable that is set, else on PATH, else `null`. */
export function findProgram(name: string, variables: readonly string[], env: NodeJS.ProcessEnv): string | null {
  for (const variable of variables) {
    const path = env[variable];
    if (path !== undefined && path !== '') return path;
  }
  for (const folder of (env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, name);
    if (folder !== '' && isExecutable(path)) return path;
  }
  return null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
