/** When a breaker opens and how it closes. Times are milliseconds. */
export interface BreakerPolicy {
  readonly soft: {
    readonly windowMs: number;
    /** Opens above this share of errors, when it is believable. */
    readonly errorRate: number;
    /** Opens above this share of answers slower than the limit of their signal: 0.05 is a P95 above it. */
    readonly slowRate: number;
    /** Fewer tries in the window say nothing. */
    readonly minimum: number;
    /** So many errors one after another open it, however few tries there were. */
    readonly inARow: number;
    /** While open, this share of the requests goes there all the same, and one each `probeEveryMs` at least. */
    readonly probeShare: number;
    readonly probeEveryMs: number;
  };
  readonly hard: {
    readonly windowMs: number;
    readonly errorRate: number;
    readonly errors: number;
    /** Nothing goes there for so long. */
    readonly openMs: number;
  };
  /** Probes in a row that must go well before it recovers. */
  readonly goodProbes: number;
  /** Shares of the traffic on the way back, each for `stepMs`. */
  readonly steps: readonly number[];
  readonly stepMs: number;
}

export const DEFAULT_BREAKER: BreakerPolicy = {
  soft: {
    windowMs: 30_000,
    errorRate: 0.1,
    slowRate: 0.05,
    minimum: 20,
    inARow: 6,
    probeShare: 0.05,
    probeEveryMs: 10_000,
  },
  hard: { windowMs: 60_000, errorRate: 0.5, errors: 10, openMs: 60_000 },
  goodProbes: 3,
  steps: [0.05, 0.25, 0.5],
  stepMs: 4000,
};

/** Breakers of deployments. */
export interface BreakerRules {
  readonly enabled: boolean;
  readonly policy: BreakerPolicy;
  /** Above which a P95 opens one; null = not judged. */
  readonly slow: { readonly firstTokenMs: number | null; readonly totalMs: number | null };
  readonly whenAllOpen: 'serve' | 'refuse';
  readonly text: string | null;
}
