export const STATION_NAMES = ['authenticate', 'schedule', 'route', 'enhance', 'adapt', 'wrap'] as const;
export type StationName = (typeof STATION_NAMES)[number];

/** What one station did to one request. */
export type StationRecord = {
  readonly station: StationName;
  /** Its own time, waiting included, in microseconds. */
  readonly micros: number;
  /** `allowed`, `held`, `clean`, …: a short word a station. */
  readonly decision: string;
  /** Why, in words and figures without secrets or prompts. */
  readonly reason: string;
};

/** What became of one try. */
export type AttemptRecord = {
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
};

/** The written history of a request: one structured event at its end. */
export class Trail {
  /** By place: no map for six entries. */
  readonly #stations: (StationRecord | undefined)[] = STATION_NAMES.map(() => undefined);

  /** Adds to what the station has spent so far; the later decision stands. */
  note(station: StationName, micros: number, decision: string, reason: string): void {
    const place = STATION_NAMES.indexOf(station);
    this.#stations[place] = { station, micros: micros + (this.#stations[place]?.micros ?? 0), decision, reason };
  }

  stations(): readonly StationRecord[] {
    return this.#stations.filter((record) => record !== undefined);
  }

  of(station: StationName): StationRecord | undefined {
    return this.#stations[STATION_NAMES.indexOf(station)];
  }
}
