import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Decided } from '../config/check/finding.ts';
import { restartParts } from '../config/restart-parts.ts';
import type { Problem } from '../config/problem.ts';
import { watchConfig } from '../config/watch-config.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { CONFIG_CHECKS, type LoadedConfig } from './load.ts';

/** Envoy takes up its own files in this time: only then may a plan name a new backend. */
const APPLY_DELAY_MS = 400;

/** The configuration in force, which follows its file. */
export interface LiveConfig {
  readonly path: string;
  readonly current: () => Snapshot;
  /** What the file says, which something else may stand in for. */
  readonly file: () => Snapshot;
  /** Puts `next` in the place of the file as it is now, until the file is another one; null: the file itself is in force. */
  readonly replace: (next: Snapshot | null) => void;
  /**
   * Puts the file as it is now in force under a number of its own, after `prepare`: what is kept by number is set anew. Nothing
   * when the file is another one by then.
   */
  readonly renumber: (prepare: (next: Snapshot) => Promise<void>) => Promise<void>;
  /** What is wrong with the file as it stands now; `null` when nothing is. */
  readonly problem: () => string | null;
  /** What of the configuration in force waits for a restart: paths as in the file. */
  readonly awaitingRestart: () => readonly string[];
  /** Begins to follow the file. `prepare` is done before a new snapshot is in force; `decided`: where deployments stand. */
  readonly follow: (options: FollowOptions) => void;
  readonly close: () => void;
}

export interface FollowOptions {
  readonly prepare: (next: Snapshot) => Promise<void>;
  readonly decided: Decided;
  /** Another file is in force. */
  readonly onFile?: () => void;
}

/** What an operator should know of it, each as a reason of `/readyz`. */
export function configReasons(config: Pick<LiveConfig, 'problem' | 'awaitingRestart'>): readonly string[] {
  const problem = config.problem();
  return [
    ...(problem === null ? [] : [`config: ${problem}`]),
    ...config.awaitingRestart().map((part) => `config: ${part} needs a restart`),
  ];
}

/** `tokenlat.yaml:3:1 routes[0].match must be …`. Not the folder: whoever may ask for health need not know it. */
function headOf({ file, line, column, path, message }: Problem): string {
  return [`${basename(file)}:${line}:${column}`, path, message].filter((word) => word !== '').join(' ');
}

/** One snapshot after another, swapped by one assignment; a file that cannot be used leaves the old one. */
export function createLiveConfig(loaded: LoadedConfig, log: Log, metrics: Pick<Metrics, 'anomaly'>): LiveConfig {
  let file = loaded.snapshot;
  let instead: Snapshot | null = null;
  let newest = file;
  let generation = file.generation;
  let problem: string | null = null;
  let watcher: { readonly close: () => void } | null = null;

  const numbered = (snapshot: Snapshot): Snapshot => {
    generation += 1;
    return Object.freeze({ ...snapshot, generation });
  };

  const apply = async (next: Snapshot, { prepare, onFile }: FollowOptions): Promise<void> => {
    newest = next;
    await Promise.all([prepare(next), sleep(APPLY_DELAY_MS)]);
    if (newest !== next) return;
    file = next;
    instead = null;
    log.info('configuration reloaded', { generation: next.generation, digest: next.digest });
    const parts = restartParts(loaded.snapshot, next);
    if (parts.length > 0) log.warn('only a restart takes up a part of the configuration', { parts: parts.join(', ') });
    onFile?.();
  };

  return {
    path: loaded.path,
    current: () => instead ?? file,
    file: () => file,
    replace(next) {
      if (next === null && instead === null) return;
      instead = numbered(next ?? file);
      // The file is in force again under a number of its own, which those who keep state by it need.
      if (next === null) [file, instead] = [instead, null];
    },
    async renumber(prepare) {
      const before = file;
      const next = numbered(before);
      await prepare(next);
      if (file === before) file = next;
    },
    problem: () => problem,
    awaitingRestart: () => restartParts(loaded.snapshot, instead ?? file),
    follow(options) {
      watcher = watchConfig({
        path: loaded.path,
        ...CONFIG_CHECKS,
        decided: options.decided,
        current: file,
        files: loaded.files.keys(),
        onChange(next) {
          problem = null;
          apply(numbered(next), options).catch((reason: unknown) => {
            log.error('a new configuration could not be prepared', {
              error: reason instanceof Error ? reason : undefined,
            });
          });
        },
        onProblem(problems) {
          const [first] = problems;
          problem = first === undefined ? null : headOf(first);
          if (first === undefined) {
            log.info('configuration put right', { generation, digest: file.digest });
            return;
          }
          metrics.anomaly('config_refused');
          log.error('new configuration refused, the old one stays', { problems: problems.length, first: { ...first } });
        },
      });
    },
    close: () => watcher?.close(),
  };
}
