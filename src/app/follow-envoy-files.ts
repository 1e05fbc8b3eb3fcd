import type { RolloutRecord } from '../core/directory.ts';
import type { Log } from '../core/ports/telemetry.ts';
import { watchConfig } from '../config/watch-config.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { renderEnvoy } from '../render/render-envoy.ts';
import { writeFiles } from '../render/write-files.ts';
import { decidedOn } from './follow-stages.ts';
import { loadCandidate } from './load-candidate.ts';
import { CONFIG_CHECKS, type LoadedConfig } from './load.ts';

/** How long Envoy keeps the clusters of backends that left: requests that were planned before may still try them. */
const KEEP_CLUSTERS_MS = 10_000;

export interface FollowOptions {
  readonly loaded: LoadedConfig;
  /** Absolute path of the folder that Envoy reads. */
  readonly dir: string;
  readonly log: Log;
}

export interface FollowedEnvoyFiles {
  /** The roll-out is this one now; null = there is none. */
  readonly onRollout: (record: RolloutRecord | null) => void;
  readonly close: () => void;
}

/**
 * Writes Envoy's files and keeps them up to the configuration. A backend is known to Envoy before the server plans with it
 * (workers wait a moment, see `APPLY_DELAY_MS` there), and is forgotten by Envoy last. While a configuration is rolled out, Envoy
 * knows the backends of both.
 */
export function followEnvoyFiles({ loaded, dir, log }: FollowOptions): FollowedEnvoyFiles {
  let file = loaded.snapshot;
  let rollout: RolloutRecord | null = null;
  let written = file;
  let later: NodeJS.Timeout | null = null;
  const write = (snapshot: Snapshot): void => {
    writeFiles(dir, renderEnvoy(snapshot, { nodeId: 'tokenlat', dir }).files);
  };
  const update = (): void => {
    const next = withRollout(loaded.path, file, rollout);
    const gone = [...written.backends].filter(([name]) => !next.backends.has(name));
    written = next;
    if (later !== null) clearTimeout(later);
    later = null;
    write(gone.length === 0 ? next : { ...next, backends: new Map([...gone, ...next.backends]) });
    if (gone.length > 0) later = setTimeout(() => write(next), KEEP_CLUSTERS_MS);
  };
  write(file);
  const watcher = watchConfig({
    path: loaded.path,
    ...CONFIG_CHECKS,
    decided: decidedOn(null, () => file),
    current: file,
    files: loaded.files.keys(),
    onChange(next) {
      file = next;
      update();
    },
    onProblem: (problems) => log.debug('Envoy keeps its configuration', { problems: problems.length }),
  });
  return {
    onRollout(record) {
      rollout = record;
      update();
    },
    close() {
      watcher.close();
      if (later !== null) clearTimeout(later);
    },
  };
}

/** What Envoy must know of: the file, that and what is tried beside it, or what was promoted in its place. */
function withRollout(path: string, file: Snapshot, record: RolloutRecord | null): Snapshot {
  if (record === null || record.base !== file.source || record.text === '') return file;
  const candidate = loadCandidate({ path, old: file, text: record.text, decided: () => null });
  if (!candidate.ok) return file;
  const { snapshot, merged } = candidate;
  return record.status === 'promoted' ? snapshot : { ...file, backends: merged.backends };
}
