/** A fault of the configuration, at the place where a person would mend it. Lines and columns count from 1. */
export interface Problem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** `backends[0].endpoints[1].url`, as it stands in the file; empty for the file as a whole. */
  readonly path: string;
  /** What is wrong and what would be right. Never holds the value of a secret. */
  readonly message: string;
  /** Nothing is written at `path`: the place is the nearest thing around it. */
  readonly isAround?: true;
  /** The file as such is at fault: there is no place in it to point at. */
  readonly isFile?: true;
}

/** Keys and indices from the top of the document. */
export type Path = readonly (string | number)[];

/** `['backends', 0, 'url']` as `backends[0].url`. */
export function pathText(path: Path): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += text === '' ? part : `.${part}`;
  }
  return text;
}

const LONGEST_LINE = 160;

/**
 * Prints `file:line:column: message`, the line itself and a caret below the place; the path as well where nothing stands
 * there, as the caret is elsewhere then, and no place for a fault of the file as such. `source` gives the text of a file;
 * without it, or for a file that it does not know, the line is left out. What looks like a secret written out is masked.
 */
export function formatProblems(problems: readonly Problem[], source?: (file: string) => string | undefined): string {
  return problems
    .map((problem) => {
      if (problem.isFile === true) return `${problem.file}: ${problem.message}`;
      const path = problem.isAround === true && problem.path !== '' ? `${problem.path}: ` : '';
      const head = `${problem.file}:${problem.line}:${problem.column}: ${path}${problem.message}`;
      const line = source?.(problem.file)?.split(/\r?\n/)[problem.line - 1];
      if (line === undefined || line.trim() === '' || line.length > LONGEST_LINE) return head;
      // Tabs stay tabs in the padding, so that the caret stands below its column in any terminal.
      const pad = line.slice(0, problem.column - 1).replaceAll(/[^\t]/g, ' ');
      return `${head}\n    ${masked(line)}\n    ${pad}^`;
    })
    .join('\n');
}

const SECRET =
  /(\b(?:secret|key|value|password)["']?\s*:\s*)("(?!\$\{|Bearer \$\{)[^"]*"?|'[^']*'?|(?!["'$])[^\s,}\]]+)/gi;
const URL_PASSWORD = /(:\/\/[^\s:/@]*:)([^\s@]+)(?=@)/g;

/** Every masked character stays one column wide. */
function masked(line: string): string {
  return line.replaceAll(SECRET, cover).replaceAll(URL_PASSWORD, cover);
}

function cover(_whole: string, before: string, secret: string): string {
  return `${before}${'*'.repeat(secret.length)}`;
}
