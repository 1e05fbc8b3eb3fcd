import type { Decided } from '../config/check/finding.ts';
import { loadConfig, sourceOf } from '../config/load-config.ts';
import { type RolloutParts, rolloutParts } from '../config/rollout-parts.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { CONFIG_CHECKS } from './load.ts';
import { localRedis } from './local-redis.ts';

export interface LoadCandidateOptions {
  /** The file that it shall replace: names of other files in it are seen from there. */
  readonly path: string;
  readonly old: Snapshot;
  readonly text: string;
  readonly decided: Decided;
}

export type Candidate =
  | ({ readonly ok: true; readonly snapshot: Snapshot; readonly digest: string } & RolloutParts)
  /** `line:column path message`, in order. */
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads a configuration that shall replace the one in force, as this server would. */
export function loadCandidate({ path, old, text, decided }: LoadCandidateOptions): Candidate {
  const ownRedis = old.redis === null && localRedis() !== null;
  const result = loadConfig({ path, text, ...CONFIG_CHECKS, ownRedis, decided, generation: old.generation });
  if (!result.ok) {
    const problems = result.problems.map(({ line, column, path: at, message }) => `${line}:${column} ${at} ${message}`);
    return { ok: false, problems };
  }
  return { ok: true, snapshot: result.snapshot, digest: sourceOf(text), ...rolloutParts(old, result.snapshot) };
}
