import type { Result } from './api.ts';
import type { Problem } from './problem.ts';

/** Something that a page wants to know, and how often. */
export interface Need {
  /** Of this question alone, with all that it depends on. */
  readonly key: string;
  readonly everyMs: number;
  readonly load: () => Promise<Result<unknown>>;
}

/** What is known of a need: the last value stays while newer ones cannot be had. */
export interface Part<T = unknown> {
  readonly value: T | null;
  /** When the value came, Unix milliseconds; null = never. */
  readonly at: number | null;
  /** Why the last try failed; null = it did not. */
  readonly problem: Problem | null;
}

export interface FeedOptions {
  /** Unix milliseconds. */
  readonly time: () => number;
  /** Calls back after a while, unless what it gave is called before. */
  readonly later: (ms: number, done: () => void) => () => void;
  readonly onChange: () => void;
  readonly onSignedOut: (problem: Problem) => void;
}

export interface Feed {
  /** From now on these are kept fresh, and no others; what is known already stays known. */
  readonly want: (needs: readonly Need[]) => void;
  readonly part: <T>(key: string) => Part<T>;
  /** Nothing is asked until `resume`: nobody looks. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** Asks for everything now. */
  readonly refresh: () => void;
  /** Forgets everything. */
  readonly clear: () => void;
}

interface Watched {
  need: Need;
  failures: number;
  asking: boolean;
  cancel: (() => void) | null;
}

const UNKNOWN: Part<never> = { value: null, at: null, problem: null };
const SLOWEST_MS = 60_000;

/** Keeps parts fresh: each in its own time, later after each failure, and not at all while paused. */
export function createFeed({ time, later, onChange, onSignedOut }: FeedOptions): Feed {
  const parts = new Map<string, Part>();
  const watched = new Map<string, Watched>();
  let paused = false;
  let age = 0;

  async function ask(one: Watched): Promise<void> {
    const { need } = one;
    const asked = age;
    one.asking = true;
    const result = await need.load();
    if (asked !== age) return;
    one.asking = false;
    keep(need.key, one, result);
    if (watched.get(need.key) === one && !(!result.ok && result.problem.kind === 'signed-out')) schedule(one);
    onChange();
    if (!result.ok && result.problem.kind === 'signed-out') onSignedOut(result.problem);
  }

  function keep(key: string, one: Watched, result: Result<unknown>): void {
    const before = parts.get(key) ?? UNKNOWN;
    one.failures = result.ok ? 0 : one.failures + 1;
    parts.set(
      key,
      result.ok ? { value: result.value, at: time(), problem: null } : { ...before, problem: result.problem },
    );
  }

  function waitOf({ need, failures }: Watched): number {
    const { problem = null, at = null } = parts.get(need.key) ?? UNKNOWN;
    if (problem === null) return at === null ? 0 : Math.max(0, at + need.everyMs - time());
    const doubled = Math.min(SLOWEST_MS, need.everyMs * 2 ** Math.min(failures - 1, 5));
    return Math.max(problem.waitMs ?? 0, doubled);
  }

  function schedule(one: Watched): void {
    one.cancel?.();
    one.cancel = paused || one.asking ? null : later(waitOf(one), () => void ask(one));
  }

  function stop(one: Watched): void {
    one.cancel?.();
    one.cancel = null;
  }

  return {
    want: (needs) => {
      const keys = new Set(needs.map(({ key }) => key));
      for (const [key, one] of watched)
        if (!keys.has(key)) {
          stop(one);
          watched.delete(key);
        }
      for (const need of needs) {
        const known = watched.get(need.key);
        if (known !== undefined) {
          known.need = need;
          continue;
        }
        const one: Watched = { need, failures: 0, asking: false, cancel: null };
        watched.set(need.key, one);
        schedule(one);
      }
    },
    part: <T>(key: string) => (parts.get(key) ?? UNKNOWN) as Part<T>,
    pause: () => {
      paused = true;
      watched.forEach(stop);
    },
    resume: () => {
      if (!paused) return;
      paused = false;
      watched.forEach(schedule);
    },
    refresh: () => {
      for (const one of watched.values()) {
        stop(one);
        if (!one.asking) void ask(one);
      }
    },
    clear: () => {
      age += 1;
      watched.forEach(stop);
      watched.clear();
      parts.clear();
    },
  };
}
