import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { Snapshot } from '../core/snapshot.ts';
import type { TextModelFile } from '../lib/text-classes/model-file.ts';
import { checkAdmin } from './check/check-admin.ts';
import { checkAudit } from './check/check-audit.ts';
import { checkAuth } from './check/check-auth.ts';
import { checkBackends } from './check/check-backends.ts';
import { checkBudgets } from './check/check-budgets.ts';
import { checkClassifiers } from './check/check-classifiers.ts';
import { checkJobs } from './check/check-jobs.ts';
import { checkLedger } from './check/check-ledger.ts';
import { checkModels } from './check/check-models.ts';
import { checkServer } from './check/check-server.ts';
import { checkStages } from './check/check-stages.ts';
import { checkSurge } from './check/check-surge.ts';
import { checkZones } from './check/check-zones.ts';
import type { ChatTemplates, CheckContext, CheckMatch, CheckOptions, Decided } from './check/finding.ts';
import { compileSnapshot } from './compile/compile-snapshot.ts';
import { withEndpointFiles } from './endpoint-files.ts';
import { readTerms } from './filter-terms.ts';
import type { Path, Problem } from './problem.ts';
import { readMain } from './read-main.ts';
import { createFileReader, createSubstitute } from './references.ts';
import type { FileReader } from './references.ts';
import type { ConfigDocument } from './schema/document.ts';
import { validateDocument } from './validate.ts';
import { readYaml } from './yaml-source.ts';
import type { YamlSource } from './yaml-source.ts';

export interface LoadOptions {
  readonly path: string;
  /** Compiles a CEL expression, to say what is wrong with it. */
  readonly checkMatch: CheckMatch;
  /** Names of the dialects that there are. */
  readonly dialects: readonly string[];
  /** What is wrong with a backend's `options`. Default: nothing is known to be. */
  readonly checkOptions?: CheckOptions;
  /** Names of a dialect's chat templates. Default: any name goes. */
  readonly chatTemplates?: ChatTemplates;
  /** Where deployments stand. Default: nothing is known. */
  readonly decided?: Decided;
  /** Read in place of the file at `path`, as if it stood there. */
  readonly text?: string;
  /** Number of the snapshot. */
  readonly generation: number;
  /** The caller starts a Redis itself where the file names none. */
  readonly ownRedis?: boolean;
  /** Folder of the workers' sockets where the file names none. */
  readonly socketDir?: string;
  /** Where `${env:…}` looks. Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export type LoadResult = (
  | { readonly ok: true; readonly snapshot: Snapshot; readonly warnings: readonly Problem[] }
  | { readonly ok: false; readonly problems: readonly Problem[] }
) & {
  /** Every file that the configuration named, by absolute path; null for one that could not be read. To watch and to show. */
  readonly files: ReadonlyMap<string, string | null>;
};

/**
 * Reads, checks and compiles a configuration. Never throws for what the file says: every problem comes back with its
 * place. All or nothing: a snapshot exists only when there is no problem.
 */
export function loadConfig(options: LoadOptions): LoadResult {
  const file = path.resolve(options.path);
  const files = createFileReader(path.dirname(file));
  const read = options.text === undefined ? readMain(file) : { text: options.text };
  const all = (): ReadonlyMap<string, string | null> =>
    new Map([[file, 'text' in read ? read.text : null], ...files.seen]);
  if ('problem' in read) return { ok: false, problems: [read.problem], files: all() };
  const substitute = createSubstitute({ env: options.env ?? process.env, files });
  const source = readYaml(file, read.text, substitute);
  if (source.problems.length > 0) return { ok: false, problems: inOrder(source.problems), files: all() };
  if (source.data === null)
    return {
      ok: false,
      problems: [source.at([], 'is empty: it needs at least version, auth, backends and models')],
      files: all(),
    };
  const shape = validateDocument(source);
  if (!shape.ok) return { ok: false, problems: inOrder(shape.problems), files: all() };
  const listed = withEndpointFiles(shape.document, { source, files, substitute });
  if (!listed.ok) return { ok: false, problems: inOrder(listed.problems), files: all() };
  const document = withSocketDir(listed.document, options.socketDir);
  const found = check(source, document, files, options);
  if (found.problems.length > 0) return { ok: false, problems: inOrder(found.problems), files: all() };
  const compiled = compileSnapshot(document, files, found);
  const digest = digestOf(source, files);
  const snapshot = Object.freeze({ generation: options.generation, digest, source: sourceOf(read.text), ...compiled });
  return { ok: true, snapshot, warnings: inOrder([...found.warnings, ...modeWarnings(source, files)]), files: all() };
}

function check(
  source: YamlSource,
  document: ConfigDocument,
  files: FileReader,
  options: LoadOptions,
): {
  readonly problems: Problem[];
  readonly warnings: Problem[];
  readonly terms: readonly string[];
  readonly textModels: ReadonlyMap<string, TextModelFile>;
} {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  const placed = (where: Path, message: string, offset?: number): Problem => ({
    ...source.at(where, message, offset),
    ...(source.has(where) ? {} : { isAround: true }),
  });
  const context: CheckContext = {
    document,
    files,
    checkMatch: options.checkMatch,
    dialects: options.dialects,
    checkOptions: options.checkOptions ?? (() => null),
    chatTemplates: options.chatTemplates ?? (() => null),
    ownRedis: options.ownRedis ?? false,
    decided: options.decided ?? (() => null),
    problem: (where, message, offset) => problems.push(placed(where, message, offset)),
    warn: (where, message) => warnings.push(placed(where, message)),
  };
  const rules = [
    checkServer,
    checkAuth,
    checkAdmin,
    checkTenants,
    checkBackends,
    checkModels,
    checkStages,
    checkZones,
    checkJobs,
    checkSurge,
    checkBudgets,
    checkLedger,
    checkAudit,
  ];
  for (const rule of rules) rule(context);
  return { problems, warnings, terms: checkFilter(context), textModels: checkClassifiers(context) };
}

function checkTenants({ document, problem }: CheckContext): void {
  const names = new Set<string>();
  document.tenants.forEach((tenant, index) => {
    if (names.has(tenant.name)) problem(['tenants', index, 'name'], `"${tenant.name}" is named twice`);
    names.add(tenant.name);
  });
}

function checkFilter({ document, files, problem }: CheckContext): readonly string[] {
  const { filter } = document;
  const read = filter.terms_file === undefined ? { terms: [] } : readTerms(filter.terms_file, files);
  if ('error' in read) {
    problem(['filter', 'terms_file'], read.error);
    return [];
  }
  const terms = [...new Set([...filter.terms, ...read.terms])];
  if (filter.enabled === true && terms.length === 0) problem(['filter', 'enabled'], 'is on, but there are no terms');
  return terms;
}

/** Whoever may write a secret decides who may ask. Worth a word, not a refusal: some mounts know no modes. */
function modeWarnings(source: YamlSource, files: FileReader): Problem[] {
  return [...files.seen.keys()].flatMap((file) => {
    const mode = fs.statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
    return (mode & 0o002) === 0
      ? []
      : [source.at([], `${file} can be written by every user of this machine: chmod o-w`)];
  });
}

function digestOf(source: YamlSource, files: FileReader): string {
  const hash = createHash('sha256').update(JSON.stringify(source.data));
  for (const [file, text] of [...files.seen].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const name = path.relative(path.dirname(source.file), file);
    hash.update(JSON.stringify([name, text === null ? null : createHash('sha256').update(text).digest('hex')]));
  }
  return hash.digest('hex');
}

/** What `Snapshot.source` says of a text. */
export function sourceOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function inOrder(problems: readonly Problem[]): Problem[] {
  return problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
}

function withSocketDir(document: ConfigDocument, socketDir: string | undefined): ConfigDocument {
  const { server } = document;
  if (socketDir === undefined || server.socket_dir !== undefined) return document;
  return { ...document, server: { ...server, socket_dir: socketDir } };
}
