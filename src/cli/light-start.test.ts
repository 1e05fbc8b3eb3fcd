import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';

const SRC = join(import.meta.dirname, '..');

/** Every file of ours, and every package, that is loaded when this file is. */
function loadedWith(entry: string): { readonly files: ReadonlySet<string>; readonly packages: ReadonlySet<string> } {
  const files = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    const text = readFileSync(file, 'utf8');
    for (const [statement, target = ''] of text.matchAll(/^(?:import|export)\s(?:[^;']*?\sfrom\s)?'([^']+)';/gm)) {
      if (/^(?:import|export)\s+type\s/.test(statement)) continue;
      if (target.startsWith('.')) visit(join(dirname(file), target));
      else if (!target.startsWith('node:')) packages.add(target);
    }
  };
  visit(entry);
  return { files, packages };
}

test('what every command waits for is little: servers, stores and schemas are loaded by those that need them', () => {
  const { files, packages } = loadedWith(join(SRC, 'cli', 'main.ts'));
  assert.deepEqual([...packages], ['commander']);
  const rooms = [...new Set([...files].map((file) => relative(SRC, file).split('/')[0] ?? ''))].toSorted();
  assert.deepEqual(rooms, ['app', 'cli', 'config', 'core', 'cost', 'lib']);
  const outside = [...files].map((file) => relative(SRC, file)).filter((file) => !file.startsWith('cli/'));
  assert.ok(outside.length < 20, outside.join(' '));
});
