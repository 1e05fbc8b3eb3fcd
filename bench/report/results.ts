/** The median of the rounds, and their extremes. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export interface Percentiles {
  readonly p50: Spread;
  readonly p95: Spread;
  readonly p99: Spread;
}

/** What one setup did under one workload. */
export interface Row {
  readonly setup: string;
  readonly requests: number;
  readonly failed: number;
  readonly first_failure: string | null;
  readonly throughput: Spread;
  /** Requests that one second of CPU serves, of all processes of the setup together; null where none is counted. */
  readonly per_core: Spread | null;
  readonly latency_ms: Percentiles;
  readonly first_byte_ms: Percentiles;
  readonly gap_ms: Percentiles;
  /** By how much the gaps miss the pace of the model server; null where it has none, or it was not kept. */
  readonly jitter_ms: Percentiles | null;
  readonly cpu_us: Readonly<Record<string, Spread>>;
  readonly rss_mb: Readonly<Record<string, number>>;
  readonly messages: { readonly sent: number; readonly received: number } | null;
}

/** A promise about a figure. */
export interface Goal {
  readonly at_most?: number;
  readonly at_least?: number;
  readonly median: number;
  /**
   * Null when the rounds lie on both sides of the goal, and further apart than the figure itself; and when the machine has fewer
   * cores than `needs_cores`.
   */
  readonly met: boolean | null;
  readonly needs_cores?: number;
}

/** Memory of the processes of a setup under a steady load. */
export interface SoakRow {
  readonly setup: string;
  readonly minutes: number;
  readonly rate: number;
  readonly requests: number;
  readonly failed: number;
  /** Medians of fifths of the time, and the most that there was. */
  readonly rss_mb: { readonly second_fifth: number; readonly last_fifth: number; readonly most: number };
}

/** One kind of load. Parts of a report may have been measured on different days. */
export interface WorkloadResult {
  readonly name: string;
  readonly title: string;
  readonly rounds: number;
  readonly date: string;
  readonly rows: readonly Row[];
}

/** docs/performance.json. */
export interface Results {
  /** Figures that may be claimed, by what they compare with: medians over the rounds of what was measured side by side. */
  readonly ratios: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly goals: Readonly<Record<string, Goal>>;
  readonly spread: Readonly<Record<string, Spread>>;
  /** CPU nanoseconds that one `JSON.parse` took for a byte of the prompt of 1 MB; null when that was not kept. */
  readonly json_parse_ns_per_byte: number | null;
  readonly mode: 'quick' | 'full';
  /** Of the last part. */
  readonly date: string;
  readonly machine: Readonly<Record<string, string | number>>;
  readonly versions: Readonly<Record<string, string>>;
  /** What is turned on in each peer that was measured. */
  readonly peers: Readonly<Record<string, string>>;
  readonly workloads: readonly WorkloadResult[];
  readonly soak: readonly SoakRow[];
}
