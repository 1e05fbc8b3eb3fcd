export type StationName = 'authenticate' | 'schedule' | 'route' | 'enhance' | 'adapt' | 'wrap';

export const STATION_NAMES: readonly StationName[] = ['authenticate', 'schedule', 'route', 'enhance', 'adapt', 'wrap'];

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

const PLACES: Readonly<Record<StationName, number>> = {
  authenticate: 0,
  schedule: 1,
  route: 2,
  enhance: 3,
  adapt: 4,
  wrap: 5,
};

/** The written history of a request: one structured event at its end. */
export class Trail {
  /** By place: no map for six entries. */
  readonly #stations: (StationRecord | undefined)[] = [
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ];

  /** Adds to what the station has spent so far; the later decision stands. */
  note(station: StationName, micros: number, decision: string, reason: string): void {
    const place = PLACES[station];
    this.#stations[place] = { station, micros: micros + (this.#stations[place]?.micros ?? 0), decision, reason };
  }

  stations(): readonly StationRecord[] {
    return this.#stations.filter((record) => record !== undefined);
  }

  of(station: StationName): StationRecord | undefined {
    return this.#stations[PLACES[station]];
  }
}
