import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import * as module from 'node:module';

/** A file of the dashboard, as it is served. */
export interface UiFile {
  /** `/ui`, `/ui/browser/main.js`. */
  readonly path: '/ui' | `/ui/${string}`;
  readonly type: string;
  readonly content: string;
  /** With its quotes. */
  readonly etag: string;
}

const ROOM = new URL('../../ui/', import.meta.url);
/** Reports are made by commands, not in browsers. */
const NOT_SERVED = /(?:\.test\.ts|\.d\.ts|\.map|\.md|\.json)$|^report\//;
const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  svg: 'image/svg+xml',
};
/** Maps are not served. */
const SOURCE_MAP = /\n\/\/# sourceMappingURL=\S+\s*$/;
const PAGE = 'index.html';
/** Leads from `/ui/` to the page, whose links are relative: it works behind a prefix too. */
const DETOUR =
  '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>TokenLat</title><meta http-equiv="refresh" content="0; url=../ui"></html>\n';

let known: readonly UiFile[] | null = null;

/** All files of the dashboard, read once. From source, types are stripped here; a built one has its scripts ready. */
export function readUi(): readonly UiFile[] {
  known ??= withoutWarnings(readAll);
  return known;
}

function readAll(): readonly UiFile[] {
  const names = readdirSync(ROOM, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/'));
  const files = names
    .filter((name) => /\.\w+$/.test(name) && !NOT_SERVED.test(name))
    .toSorted()
    .map((name) => (name === PAGE ? fileOf('/ui', 'html', read(name)) : served(name)));
  return [...files, fileOf('/ui/', 'html', DETOUR)];
}

function served(name: string): UiFile {
  if (!name.endsWith('.ts'))
    return fileOf(`/ui/${name}`, name.slice(name.lastIndexOf('.') + 1), read(name).replace(SOURCE_MAP, ''));
  return fileOf(`/ui/${name.replace(/\.ts$/, '.js')}`, 'js', scriptOf(read(name)));
}

function fileOf(path: UiFile['path'], ending: string, content: string): UiFile {
  const type = TYPES[ending];
  if (type === undefined) throw new Error(`a file of the dashboard of no known type: ${path}`);
  return { path, type, content, etag: `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"` };
}

const read = (name: string): string => readFileSync(new URL(name, ROOM), 'utf8');

/** TypeScript as a module for browsers: without types, and importing what is served. */
function scriptOf(source: string): string {
  return module.stripTypeScriptTypes(source).replaceAll(/(\bfrom\s*'\.{1,2}\/[^']+)\.ts'/g, "$1.js'");
}

/** Node says on the first call that this may change. That is for those who work on it, not for those who run it. */
function withoutWarnings<T>(work: () => T): T {
  const warn = process.emitWarning.bind(process);
  process.emitWarning = () => {};
  try {
    return work();
  } finally {
    process.emitWarning = warn;
  }
}
