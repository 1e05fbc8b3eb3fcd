import fs from 'node:fs';
import path from 'node:path';
import type { Substitute } from './yaml-source.ts';

/** The largest file that a configuration reads beside itself, bytes. */
export const MAX_FILE = 1024 * 1024;

/** What a configuration reads beside itself. Paths are absolute. */
export interface FileReader {
  /** UTF-8 text, or why there is none. Every file asked for is remembered. */
  readonly text: (file: string) => { readonly text: string } | { readonly error: string };
  /** A relative path is taken from the folder of the configuration. */
  readonly resolve: (file: string) => string;
  /** What was read so far, by path, for the digest and the watcher. A missing file is remembered too, as null. */
  readonly seen: ReadonlyMap<string, string | null>;
}

export function createFileReader(folder: string): FileReader {
  const seen = new Map<string, string | null>();
  const resolve = (file: string): string => path.resolve(folder, file);
  return {
    seen,
    resolve,
    text: (name) => {
      const file = resolve(name);
      seen.set(file, null);
      try {
        if (fs.statSync(file).size > MAX_FILE) return { error: `${file} is larger than ${MAX_FILE} bytes` };
        const text = new TextDecoder('utf-8', { fatal: true }).decode(fs.readFileSync(file));
        seen.set(file, text);
        return { text };
      } catch (error) {
        return { error: `${file} ${reason(error)}` };
      }
    },
  };
}

function reason(error: unknown): string {
  if (error instanceof TypeError) return 'is not UTF-8 text';
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'ENOENT') return 'does not exist';
  if (code === 'EACCES') return 'may not be read by this user';
  return `cannot be read (${code ?? String(error)})`;
}

const REFERENCE = /\$\$\{|\$\{([^}]*)(\}|$)/g;
const ENV = /^env:([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/;
const FILE = /^file:([\s\S]+)$/;

/**
 * Replaces `${env:NAME}`, `${env:NAME:-default}` and `${file:PATH}`; `$${` stands for a plain `${`. What comes out is not
 * looked at again. One line break at the end of a file is dropped, as editors and `echo` put it there.
 */
export function createSubstitute(options: {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly files: FileReader;
}): Substitute {
  const { env, files } = options;
  return (text) => {
    if (!text.includes('${')) return { text, problem: null };
    let problem: string | null = null;
    const replaced = text.replaceAll(
      REFERENCE,
      (whole: string, inside: string | undefined, close: string | undefined) => {
        if (inside === undefined) return '${';
        const result =
          close === '}' ? lookUp(inside, env, files) : { error: `has "${whole.slice(0, 40)}" without a closing brace` };
        if ('text' in result) return result.text;
        problem ??= result.error;
        return '';
      },
    );
    return { text: replaced, problem };
  };
}

function lookUp(
  inside: string,
  env: Readonly<Record<string, string | undefined>>,
  files: FileReader,
): { readonly text: string } | { readonly error: string } {
  const variable = ENV.exec(inside);
  if (variable !== null) {
    const name = variable[1] ?? '';
    const value = env[name] ?? '';
    if (value !== '') return { text: value };
    if (variable[2] !== undefined) return { text: variable[2] };
    return {
      error: `needs the environment variable ${name}, which is not set: export it first, or give a default by \${env:${name}:-…}`,
    };
  }
  const file = FILE.exec(inside);
  if (file === null)
    return { error: `knows \${env:NAME}, \${env:NAME:-default} and \${file:PATH} only; write $\${ for a plain \${` };
  const read = files.text(file[1] ?? '');
  return 'text' in read
    ? { text: read.text.replace(/\r?\n$/, '') }
    : { error: `needs a file that is missing or unfit: ${read.error}` };
}
