import fs from 'node:fs';
import type { Problem } from './problem.ts';
import { SOURCE_LIMITS } from './yaml-source.ts';

/** The text of the configuration's own file, or why there is none. */
export function readMain(file: string): { readonly text: string } | { readonly problem: Problem } {
  const problem = (message: string): { readonly problem: Problem } => ({
    problem: { file, line: 1, column: 1, path: '', message, isFile: true },
  });
  try {
    const stat = fs.statSync(file);
    if (!stat.isFile()) return problem('is not a file');
    if (stat.size > SOURCE_LIMITS.bytes)
      return problem(`is larger than ${SOURCE_LIMITS.bytes} bytes: split long lists into files`);
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(fs.readFileSync(file)) };
  } catch (error) {
    if (error instanceof TypeError) return problem('is not UTF-8 text');
    const { code } = error as NodeJS.ErrnoException;
    return problem(code === 'ENOENT' ? 'does not exist' : `cannot be read (${code ?? String(error)})`);
  }
}
