import type { Log } from '../core/ports/telemetry.ts';
import { watchConfig } from '../config/watch-config.ts';
import type { Snapshot } from '../core/snapshot.ts';
import { renderEnvoy } from '../render/render-envoy.ts';
import { writeFiles } from '../render/write-files.ts';
import { CONFIG_CHECKS, type LoadedConfig } from './load.ts';

/** How long Envoy keeps the clusters of backends that left: requests that were planned before may still try them. */
const KEEP_CLUSTERS_MS = 10_000;

export interface FollowOptions {
  readonly loaded: LoadedConfig;
  /** Absolute path of the folder that Envoy reads. */
  readonly dir: string;
  readonly log: Log;
}

/**
 * Writes Envoy's files and keeps them up to the configuration. A backend is known to Envoy before the server plans with it
 * (workers wait a moment, see `APPLY_DELAY_MS` there), and is forgotten by Envoy last.
 */
export function followEnvoyFiles({ loaded, dir, log }: FollowOptions): { readonly close: () => void } {
  let current = loaded.snapshot;
  let later: NodeJS.Timeout | null = null;
  const write = (snapshot: Snapshot): void => {
    writeFiles(dir, renderEnvoy(snapshot, { nodeId: 'tokenlat', dir }).files);
  };
  write(current);
  const watcher = watchConfig({
    path: loaded.path,
    ...CONFIG_CHECKS,
    current,
    files: loaded.files.keys(),
    onChange(next) {
      const gone = [...current.backends].filter(([name]) => !next.backends.has(name));
      current = next;
      if (later !== null) clearTimeout(later);
      later = null;
      write(gone.length === 0 ? next : { ...next, backends: new Map([...gone, ...next.backends]) });
      if (gone.length > 0) later = setTimeout(() => write(next), KEEP_CLUSTERS_MS);
    },
    onProblem: (problems) => log.debug('Envoy keeps its configuration', { problems: problems.length }),
  });
  return {
    close() {
      watcher.close();
      if (later !== null) clearTimeout(later);
    },
  };
}
