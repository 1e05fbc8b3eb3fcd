import { resolve } from 'node:path';
import { loadConfig } from '../config/load-config.ts';
import { DEFAULT_SOCKET_DIR } from '../config/worker-address.ts';
import type { Problem } from '../config/problem.ts';
import type { Snapshot } from '../core/snapshot.ts';
import type { ExpressionUse } from '../config/check/finding.ts';
import { compileFormula, compileMatch, compileWhen } from '../stations/route/compile-match.ts';
import { ConfigError } from './config-error.ts';
import { chatTemplates, checkOptions, DIALECT_NAMES } from './dialects.ts';

/** A configuration that is fit to run. */
export interface LoadedConfig {
  readonly path: string;
  readonly snapshot: Snapshot;
  readonly warnings: readonly Problem[];
  /** Every file it was read from, with its text. */
  readonly files: ReadonlyMap<string, string | null>;
}

const COMPILERS = { match: compileMatch, when: compileWhen, score: compileFormula } as const;

/** Says what is wrong with a CEL expression; `null` when nothing is. */
function checkMatch(
  source: string,
  use: ExpressionUse = 'match',
): { readonly message: string; readonly offset: number } | null {
  const compiled = COMPILERS[use](source);
  return 'error' in compiled ? { message: compiled.error, offset: compiled.position } : null;
}

/** What the rest of the program knows of words in a configuration. */
export const CONFIG_CHECKS = {
  checkMatch,
  dialects: DIALECT_NAMES,
  checkOptions,
  chatTemplates,
  /** `tokenlat up` keeps sockets in its own folder. */
  get socketDir(): string {
    return process.env[SOCKET_DIR_VARIABLE] ?? DEFAULT_SOCKET_DIR;
  },
};

/** Environment variable by which workers learn where `tokenlat up` keeps sockets. */
export const SOCKET_DIR_VARIABLE = 'TOKENLAT_SOCKET_DIR';

/** Reads the configuration at `path`. `ownRedis`: the caller starts one where the file names none, or needs none. Throws `ConfigError`. */
export function load(path: string, { ownRedis = false }: { readonly ownRedis?: boolean } = {}): LoadedConfig {
  const full = resolve(path);
  const result = loadConfig({ path: full, ...CONFIG_CHECKS, ownRedis, generation: 1 });
  if (!result.ok) throw new ConfigError(result.problems, result.files);
  return { path: full, snapshot: result.snapshot, warnings: result.warnings, files: result.files };
}
