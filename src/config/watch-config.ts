import fs from 'node:fs';
import path from 'node:path';
import type { Snapshot } from '../core/snapshot.ts';
import { loadConfig } from './load-config.ts';
import type { LoadOptions } from './load-config.ts';
import type { Problem } from './problem.ts';

const DEBOUNCE_MS = 100;

export interface WatchOptions extends Omit<LoadOptions, 'generation'> {
  /** What runs now: its generation is counted on, and a file of the same digest is no change. */
  readonly current: Snapshot;
  /** Files that the running configuration was read from (`LoadResult.files`). */
  readonly files: Iterable<string>;
  /** A new snapshot is ready. */
  readonly onChange: (snapshot: Snapshot, warnings: readonly Problem[]) => void;
  /** The file is not usable and the old snapshot stays; an empty list says that the file is well again and unchanged. */
  readonly onProblem: (problems: readonly Problem[]) => void;
  /** How often files are looked at even without a notice, in milliseconds. Default: 500. */
  readonly pollMs?: number;
}

/**
 * Loads a configuration again whenever it, or a file that it names, has changed. Folders are watched, not files: an
 * editor's rename and the symlink swap of a Kubernetes volume leave a watch on the file behind. A poll finds what no notice
 * told. Never throws; what a callback throws comes back as a problem.
 */
export function watchConfig(options: WatchOptions): { readonly close: () => void } {
  const { onChange, onProblem, pollMs = 500 } = options;
  const main = path.resolve(options.path);
  let { current } = options;
  let files = new Set([main, ...options.files]);
  let seen = stateOf(files);
  let unwell = false;
  let timer: NodeJS.Timeout | undefined;
  const folders = new FolderWatch(schedule);

  function load(): void {
    const result = loadConfig({ ...options, generation: current.generation + 1 });
    files = new Set([main, ...result.files.keys()]);
    if (!result.ok) {
      unwell = true;
      onProblem(result.problems);
    } else if (result.snapshot.digest !== current.digest) {
      unwell = false;
      current = result.snapshot;
      onChange(result.snapshot, result.warnings);
    } else if (unwell) {
      unwell = false;
      onProblem([]);
    }
  }

  function look(): void {
    const before = stateOf(files);
    if (before === seen) return;
    const watched = files;
    try {
      load();
    } catch (error) {
      report(error);
    }
    // A write that came while the files were read must not be taken as read.
    seen = stateOf(watched) === before ? stateOf(files) : '';
    if (seen === '') schedule();
    folders.follow(files);
  }

  function report(error: unknown): void {
    try {
      onProblem([{ file: main, line: 1, column: 1, path: '', message: `could not be taken over: ${String(error)}` }]);
    } catch {
      // Whoever cannot even hear of a problem cannot be helped; the old snapshot goes on.
    }
  }

  function schedule(): void {
    clearTimeout(timer);
    timer = setTimeout(look, DEBOUNCE_MS);
  }

  folders.follow(files);
  const poll = setInterval(look, pollMs);
  return {
    close: () => {
      clearTimeout(timer);
      clearInterval(poll);
      folders.close();
    },
  };
}

/** Tells one state of the files from another without reading them: a new file, another target of a link, another time. */
function stateOf(files: ReadonlySet<string>): string {
  return [...files]
    .map((file) => {
      try {
        const real = fs.realpathSync(file);
        const { ino, size, mtimeNs, ctimeNs } = fs.statSync(real, { bigint: true });
        return `${real} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
      } catch {
        return `${file} absent`;
      }
    })
    .join('\n');
}

/** Notices of the folders that hold the files, and of the folders where links among them lead. */
class FolderWatch {
  readonly #notice: () => void;
  readonly #watchers = new Map<string, fs.FSWatcher>();

  constructor(notice: () => void) {
    this.#notice = notice;
  }

  follow(files: ReadonlySet<string>): void {
    const wanted = new Set([...files].map((file) => path.dirname(file)));
    for (const folder of this.#watchers.keys()) if (!wanted.has(folder)) this.#drop(folder);
    for (const folder of wanted) if (!this.#watchers.has(folder)) this.#add(folder);
  }

  close(): void {
    for (const folder of this.#watchers.keys()) this.#drop(folder);
  }

  #add(folder: string): void {
    try {
      const watcher = fs.watch(folder, this.#notice);
      watcher.on('error', () => this.#drop(folder));
      this.#watchers.set(folder, watcher);
    } catch {
      // No notices from here (no folder yet, no more watches): the poll sees the file all the same.
    }
  }

  #drop(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
  }
}
