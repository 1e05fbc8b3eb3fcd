/** One request of a trace. Times are virtual milliseconds since the start. */
export interface SimRequest {
  readonly id: number;
  readonly at: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Hashes of the prompt's blocks, each with all that stands before it. Empty where the trace has none. */
  readonly blocks: readonly number[];
  /** Which of many models is asked for, where hosts load models on demand. */
  readonly model: number | null;
}

/**
 * How one attempt ended: `error` a 5xx at once, `rejected` a 429, `timeout` no first token in time,
 * `stalled` a stream that gave nothing for too long, `refused` no host was picked.
 */
export type Outcome = 'ok' | 'error' | 'rejected' | 'timeout' | 'stalled' | 'refused';

/** One try of a request on one host. */
export interface Attempt {
  readonly request: SimRequest;
  readonly host: number;
  /** 1 for the first. */
  readonly number: number;
  readonly startedAt: number;
}

/** What a host would show on its metrics page. */
export interface HostLoad {
  readonly running: number;
  readonly waiting: number;
}
