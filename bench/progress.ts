/** How far a run is. */
export interface Progress {
  /** So many milliseconds of the estimate are done. */
  done(ms: number): void;
  /** Time passed and time left, as a person reads it. */
  text(): string;
}

export interface ProgressOptions {
  /** Of the whole run, as it was estimated. */
  readonly totalMs: number;
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
}

/** Tells the time that is left by the estimate, stretched by what the part that is done took against it. */
export function createProgress({ totalMs, now }: ProgressOptions): Progress {
  const began = now();
  let doneMs = 0;
  return {
    done(ms) {
      doneMs += ms;
    },
    text() {
      const passed = now() - began;
      const stretch = doneMs > 0 ? passed / doneMs : 1;
      return `${minutes(passed)} passed, about ${minutes(Math.max(0, totalMs - doneMs) * stretch)} left`;
    },
  };
}

/** `3:05`, minutes and seconds. */
function minutes(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
