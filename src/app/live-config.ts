import { setTimeout as sleep } from 'node:timers/promises';
import { watchConfig } from '../config/watch-config.ts';
import type { Log, Metrics } from '../core/ports/telemetry.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { CONFIG_CHECKS, type LoadedConfig } from './load.ts';

/** Envoy takes up its own files in this time: only then may a plan name a new backend. */
const APPLY_DELAY_MS = 400;

/** The configuration in force, which follows its file. */
export interface LiveConfig {
  readonly current: () => Snapshot;
  /** What is wrong with the file as it stands now; `null` when nothing is. */
  readonly problem: () => string | null;
  /** Begins to follow the file. `prepare` is done before a new snapshot is in force. */
  readonly follow: (prepare: (next: Snapshot) => Promise<void>) => void;
  readonly close: () => void;
}

/** One snapshot after another, swapped by one assignment; a file that cannot be used leaves the old one. */
export function createLiveConfig(loaded: LoadedConfig, log: Log, metrics: Pick<Metrics, 'anomaly'>): LiveConfig {
  let current = loaded.snapshot;
  let newest = current;
  let problem: string | null = null;
  let watcher: { readonly close: () => void } | null = null;

  const apply = async (next: Snapshot, prepare: (next: Snapshot) => Promise<void>): Promise<void> => {
    newest = next;
    await Promise.all([prepare(next), sleep(APPLY_DELAY_MS)]);
    if (newest !== next) return;
    current = next;
    log.info('configuration reloaded', { generation: next.generation, digest: next.digest });
  };

  return {
    current: () => current,
    problem: () => problem,
    follow(prepare) {
      watcher = watchConfig({
        path: loaded.path,
        ...CONFIG_CHECKS,
        current,
        files: loaded.files.keys(),
        onChange(next) {
          problem = null;
          apply(next, prepare).catch((reason: unknown) => {
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
