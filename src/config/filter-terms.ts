import type { FileReader } from './references.ts';

/** The terms of a file, one a line. Empty lines and lines that begin with `#` are left out. */
export function readTerms(
  file: string,
  files: FileReader,
): { readonly terms: readonly string[] } | { readonly error: string } {
  const read = files.text(file);
  if ('error' in read) return read;
  const terms = read.text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  return { terms };
}
