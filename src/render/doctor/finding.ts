/** `error`: requests fail or pass unchecked. `warning`: they may. `info`: worth knowing. */
export type Level = 'error' | 'warning' | 'info';

/** One thing about a running Envoy. */
export interface Finding {
  readonly level: Level;
  /** Stable word for scripts. */
  readonly code: string;
  readonly message: string;
  /** What to do about it. */
  readonly fix: string;
}

export type Report = (level: Level, code: string, message: string, fix: string) => void;
