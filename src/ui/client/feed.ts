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

interface Watched {
  need: Need;
  failures: number;
  asking: boolean;
  cancel: (() => void) | null;
}

const UNKNOWN: Part<never> = { value: null, at: null, problem: null };
const SLOWEST_MS = 60_000;

/** Keeps parts fresh: each in its own time, later after each failure, and not at all while paused. */
export class Feed {
  readonly #options: FeedOptions;
  readonly #parts = new Map<string, Part>();
  readonly #watched = new Map<string, Watched>();
  #paused = false;
  /** Answers to what was asked before the last `clear` count no more. */
  #age = 0;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  /** From now on these are kept fresh, and no others; what is known already stays known. */
  want(needs: readonly Need[]): void {
    const keys = new Set(needs.map(({ key }) => key));
    for (const [key, one] of this.#watched) {
      if (keys.has(key)) continue;
      stop(one);
      this.#watched.delete(key);
    }
    for (const need of needs) {
      const known = this.#watched.get(need.key);
      if (known !== undefined) {
        known.need = need;
        continue;
      }
      const one: Watched = { need, failures: 0, asking: false, cancel: null };
      this.#watched.set(need.key, one);
      this.#schedule(one);
    }
  }

  part<T>(key: string): Part<T> {
    return (this.#parts.get(key) ?? UNKNOWN) as Part<T>;
  }

  /** Nothing is asked until `resume`: nobody looks. */
  pause(): void {
    this.#paused = true;
    this.#watched.forEach(stop);
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    for (const one of this.#watched.values()) this.#schedule(one);
  }

  /** Asks for everything now. */
  refresh(): void {
    for (const one of this.#watched.values()) {
      stop(one);
      if (!one.asking) void this.#ask(one);
    }
  }

  /** Forgets everything. */
  clear(): void {
    this.#age += 1;
    this.#watched.forEach(stop);
    this.#watched.clear();
    this.#parts.clear();
  }

  async #ask(one: Watched): Promise<void> {
    const { need } = one;
    const age = this.#age;
    one.asking = true;
    const result = await need.load();
    if (age !== this.#age) return;
    one.asking = false;
    this.#keep(one, need.key, result);
    const signedOut = !result.ok && result.problem.kind === 'signed-out' ? result.problem : null;
    if (signedOut === null && this.#watched.get(need.key) === one) this.#schedule(one);
    this.#options.onChange();
    if (signedOut !== null) this.#options.onSignedOut(signedOut);
  }

  #keep(one: Watched, key: string, result: Result<unknown>): void {
    one.failures = result.ok ? 0 : one.failures + 1;
    const part = result.ok
      ? { value: result.value, at: this.#options.time(), problem: null }
      : { ...this.part(key), problem: result.problem };
    this.#parts.set(key, part);
  }

  #schedule(one: Watched): void {
    one.cancel?.();
    one.cancel = this.#paused || one.asking ? null : this.#options.later(this.#waitOf(one), () => void this.#ask(one));
  }

  #waitOf({ need, failures }: Watched): number {
    const { problem, at } = this.part(need.key);
    if (problem === null) return at === null ? 0 : Math.max(0, at + need.everyMs - this.#options.time());
    const doubled = Math.min(SLOWEST_MS, need.everyMs * 2 ** Math.min(Math.max(failures - 1, 0), 5));
    return Math.max(problem.waitMs ?? 0, doubled);
  }
}

function stop(one: Watched): void {
  one.cancel?.();
  one.cancel = null;
}
