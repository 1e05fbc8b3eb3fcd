import { setTimeout as sleep } from 'node:timers/promises';
import type { Decided } from '../config/check/finding.ts';
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
  /** What is wrong with the file as it stands now; `null` when nothing is. */
  readonly problem: () => string | null;
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
    problem: () => problem,
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
          problem = first === undefined ? null : `${first.line}:${first.column} ${first.path} ${first.message}`;
          if (first === undefined) return;
          metrics.anomaly('config_refused');
          log.error('new configuration refused, the old one stays', { problems: problems.length, first: { ...first } });
        },
      });
    },
    close: () => watcher?.close(),
  };
}
