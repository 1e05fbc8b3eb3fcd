export type StationName = 'authenticate' | 'schedule' | 'route' | 'enhance' | 'adapt' | 'wrap';

export const STATION_NAMES: readonly StationName[] = ['authenticate', 'schedule', 'route', 'enhance', 'adapt', 'wrap'];

/** What one station did to one request. */
export interface StationRecord {
  readonly station: StationName;
  /** Its own time, waiting included, in microseconds. */
  readonly micros: number;
  /** `allowed`, `held`, `clean`, …: a short word a station. */
  readonly decision: string;
  /** Why, in words and figures without secrets or prompts. */
  readonly reason: string;
}

/** What became of one try. */
export interface AttemptRecord {
  readonly attempt: number;
  readonly backend: string;
  /** Of a pool: `ip:port`. */
  readonly endpoint?: string;
  readonly model: string;
  /** `failed_over`: another backend, or endpoint of a pool, got the next try. `tried_again`: the same one. */
  readonly outcome: 'served' | 'failed_over' | 'tried_again' | 'failed' | 'cut' | 'unknown';
  readonly status: number | null;
  readonly startedMs: number;
  readonly firstByteMs: number | null;
  readonly reason: string;
}

/** The written history of a request: one structured event at its end. */
export class Trail {
  readonly #stations = new Map<StationName, StationRecord>();

  /** Adds to what the station has spent so far; the later decision stands. */
  note(station: StationName, micros: number, decision: string, reason: string): void {
    const before = this.#stations.get(station);
    this.#stations.set(station, { station, micros: micros + (before?.micros ?? 0), decision, reason });
  }

  stations(): readonly StationRecord[] {
    return STATION_NAMES.flatMap((name) => this.#stations.get(name) ?? []);
  }
}
