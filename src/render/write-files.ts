import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

/**
 * Writes rendered files into `dir`, each whole or not at all: a temporary file renamed over the old one, which is also the
 * notice that Envoy waits for. Files that have not changed stay untouched. Gives the names that were written. Throws what
 * the file system throws.
 */
export function writeFiles(dir: string, files: ReadonlyMap<string, string>): readonly string[] {
  fs.mkdirSync(dir, { recursive: true });
  const written: string[] = [];
  for (const [name, content] of files) {
    const target = path.join(dir, name);
    if (current(target) === content) continue;
    const temporary = path.join(dir, `.${name}.${randomUUID()}`);
    try {
      fs.writeFileSync(temporary, content, { mode: 0o644 });
      fs.renameSync(temporary, target);
    } finally {
      fs.rmSync(temporary, { force: true });
    }
    written.push(name);
  }
  removeStale(dir, files);
  return written;
}

function current(file: string): string | null {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

/** Endpoints of backends that are gone. Envoy has dropped their clusters by now. */
function removeStale(dir: string, files: ReadonlyMap<string, string>): void {
  for (const name of fs.readdirSync(dir)) {
    if (/^endpoints-.+\.yaml$/.test(name) && !files.has(name)) fs.rmSync(path.join(dir, name), { force: true });
  }
}
