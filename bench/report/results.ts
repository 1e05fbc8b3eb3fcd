/** The median of the rounds, and their extremes. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** What one setup did under one workload. */
export interface Row {
  readonly setup: string;
  readonly requests: number;
  readonly failed: number;
  readonly first_failure: string | null;
  readonly throughput: Spread;
  readonly latency_ms: { readonly p50: Spread; readonly p95: Spread; readonly p99: Spread };
  readonly first_byte_ms: { readonly p50: Spread; readonly p95: Spread; readonly p99: Spread };
  readonly cpu_us: Readonly<Record<string, Spread>>;
  readonly rss_mb: Readonly<Record<string, number>>;
  readonly messages: { readonly sent: number; readonly received: number } | null;
}

/** docs/performance.json. */
export interface Results {
  /** Figures that may be claimed, each the median over the rounds of what was measured side by side. */
  readonly ratios: Readonly<Record<string, number>>;
  readonly spread: Readonly<Record<string, Spread>>;
  readonly mode: 'quick' | 'full';
  readonly rounds: number;
  readonly date: string;
  readonly machine: Readonly<Record<string, string | number>>;
  readonly versions: Readonly<Record<string, string>>;
  readonly workloads: readonly { readonly name: string; readonly title: string; readonly rows: readonly Row[] }[];
}
