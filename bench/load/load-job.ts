/** Requests that later jobs send, in turn, each from its first line to its last byte, in base64. */
export interface LoadRequests {
  readonly kind: 'requests';
  readonly key: string;
  readonly requests: readonly string[];
}

/** One run of the load generator. */
export interface LoadJob {
  readonly kind: 'job';
  readonly port: number;
  /** Of the requests to be sent. */
  readonly key: string;
  /** Connections of a closed loop; the most that an open loop may open. */
  readonly connections: number;
  /** Requests a second of an open loop; null for a closed loop. */
  readonly rate: number | null;
  readonly durationMs: number;
  /** Milliseconds between two events of an answer as the model server sends them; null where it sends none. */
  readonly paceMs: number | null;
}

/** Milliseconds below which this share stayed. All 0 when nothing was measured. */
export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** What came of it. */
export interface LoadResult {
  readonly requests: number;
  /** Requests without a 200 answer. */
  readonly failed: number;
  readonly firstFailure: string | null;
  readonly seconds: number;
  readonly latencyMs: Percentiles;
  /** Until the first byte of the body. */
  readonly firstByteMs: Percentiles;
  /** Between two arrivals of bytes of one answer. */
  readonly gapMs: Percentiles;
  /** By how much those times miss the pace, either way. */
  readonly jitterMs: Percentiles;
}
