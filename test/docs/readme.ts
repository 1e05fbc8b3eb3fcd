import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../../scripts/cache.mjs';

/** Every Markdown file of the project, by path below the root. */
export function markdownFiles(): readonly string[] {
  return fs
    .globSync('**/*.md', {
      cwd: ROOT,
      exclude: (name) => /^(node_modules|\.cache|dist|coverage|fixtures|\.git)$/.test(path.basename(name)),
    })
    .map((name) => name.split(path.sep).join('/'))
    .toSorted();
}

export function read(name: string): string {
  return fs.readFileSync(path.join(ROOT, name), 'utf8');
}

/** Fenced blocks of one language. */
export function blocks(text: string, language: string): readonly string[] {
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .filter((match) => match[1] === language)
    .map((match) => match[2] ?? '');
}

/** `text` without its fenced blocks. */
export function prose(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```$/gm, '');
}

/** Targets of the links outside code. */
export function links(text: string): readonly string[] {
  return [
    ...prose(text)
      .replaceAll(/`[^`\n]*`/g, '')
      .matchAll(/\]\(([^)\s]+)\)/g),
  ].map((match) => match[1] ?? '');
}

/** The anchors that GitHub makes of the headings. */
export function anchors(text: string): ReadonlySet<string> {
  const headings = [...prose(text).matchAll(/^#+ (.+)$/gm)].map((match) => match[1] ?? '');
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

/** A call of the command line that a page shows: its words up to the first that is no word of a command, and its options. */
export interface ShownCommand {
  readonly words: readonly string[];
  readonly options: readonly string[];
  readonly text: string;
}

/** Calls in fenced shell blocks and in inline code. */
export function commands(text: string): readonly ShownCommand[] {
  const lines = blocks(text, 'sh').flatMap((block) => block.split('\n'));
  const inline = [...prose(text).matchAll(/`([^`]+)`/g)].map((match) => (match[1] ?? '').replaceAll('\n', ' '));
  return [...lines, ...inline].flatMap((line) => {
    const call = line.replace(/\s+#.*$/, '').replaceAll(/\s\/\w+\b/g, ' ');
    const match = /(?:^|\s)tokenlat(?: (.*))?$/.exec(call.trim());
    if (match === null || !call.trim().startsWith('tokenlat')) return [];
    const parts = (match[1] ?? '').split(' ').filter((part) => part !== '');
    const words = parts.slice(0, parts.findIndex((part) => !/^[a-z]+(?:-[a-z]+)*$/.test(part)) >>> 0);
    return [{ words, options: parts.filter((part) => /^--?[a-z]/.test(part)), text: line }];
  });
}
