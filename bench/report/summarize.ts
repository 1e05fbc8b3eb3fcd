import type { Sample } from '../measure.ts';
import type { Role, SetupName } from '../setups/setup.ts';
import type { Results, Row, Spread } from './results.ts';

/** Samples by workload, then setup, one a round. */
export type Samples = ReadonlyMap<string, ReadonlyMap<SetupName, readonly Sample[]>>;

type Figure = (sample: Sample) => number | undefined;

const cpu =
  (role: Role): Figure =>
  (sample) =>
    sample.cpuUs[role];
const p50: Figure = (sample) => sample.latencyMs.p50;
const p95: Figure = (sample) => sample.latencyMs.p95;
const p99: Figure = (sample) => sample.latencyMs.p99;
const firstByte: Figure = (sample) => sample.firstByteMs.p50;
const throughput: Figure = (sample) => sample.throughput;
const divide = (ours: number, other: number): number => ours / other;
const subtract = (ours: number, other: number): number => ours - other;

interface Comparison {
  readonly workload: string;
  readonly ours: SetupName;
  readonly other: SetupName;
  readonly pick: Figure;
  readonly how: (ours: number, other: number) => number;
}

const compare = (
  workload: string,
  ours: SetupName,
  other: SetupName,
  pick: Figure,
  how: Comparison['how'] = divide,
): Comparison => ({ workload, ours, other, pick, how });

const COMPARISONS: Readonly<Record<string, Comparison>> = {
  ext_proc_cpu_plain_vs_echo: compare('plain', 'tokenlat', 'echo', cpu('ext_proc')),
  ext_proc_cpu_stream100_vs_echo: compare('stream100', 'tokenlat', 'echo', cpu('ext_proc')),
  ext_proc_cpu_plain_vs_grpc_js: compare('plain', 'tokenlat', 'tokenlat-grpc-js', cpu('ext_proc')),
  ext_proc_cpu_stream100_vs_grpc_js: compare('stream100', 'tokenlat', 'tokenlat-grpc-js', cpu('ext_proc')),
  ext_proc_cpu_plain_minimal_vs_echo: compare('plain', 'tokenlat-minimal', 'echo', cpu('ext_proc')),
  ext_proc_cpu_stream100_minimal_vs_echo: compare('stream100', 'tokenlat-minimal', 'echo', cpu('ext_proc')),
  ext_proc_cpu_prompt_8k_vs_echo: compare('prompt-8k', 'tokenlat', 'echo', cpu('ext_proc')),
  ext_proc_cpu_prompt_1m_vs_echo: compare('prompt-1m', 'tokenlat', 'echo', cpu('ext_proc')),
  envoy_cpu_plain_vs_envoy_alone: compare('plain', 'tokenlat', 'envoy', cpu('envoy')),
  envoy_cpu_stream100_vs_envoy_alone: compare('stream100', 'tokenlat', 'envoy', cpu('envoy')),
  throughput_plain_vs_echo: compare('plain', 'tokenlat', 'echo', throughput),
  limits_cpu_plain: compare('plain', 'tokenlat-all-limits', 'tokenlat-no-limits', cpu('ext_proc')),
  limits_redis_cpu_plain: compare('plain', 'tokenlat-all-limits', 'tokenlat-no-limits', cpu('redis')),
  limits_throughput_plain: compare('plain', 'tokenlat-all-limits', 'tokenlat-no-limits', throughput),
  limits_p50_plain: compare('plain', 'tokenlat-all-limits', 'tokenlat-no-limits', p50),
  workers_2_throughput: compare('plain', 'tokenlat-2', 'tokenlat', throughput),
  added_p50_ms: compare('latency', 'tokenlat', 'direct', p50, subtract),
  added_p95_ms: compare('latency', 'tokenlat', 'direct', p95, subtract),
  added_p99_ms: compare('latency', 'tokenlat', 'direct', p99, subtract),
  echo_added_p50_ms: compare('latency', 'echo', 'direct', p50, subtract),
  echo_added_p99_ms: compare('latency', 'echo', 'direct', p99, subtract),
  ttft_added_p50_ms: compare('stream100', 'tokenlat', 'direct', firstByte, subtract),
};

/** Compares round by round, what ran side by side, and takes medians. */
export function summarize(samples: Samples): Pick<Results, 'ratios' | 'spread'> {
  const spread: Record<string, Spread> = {};
  for (const [name, comparison] of Object.entries(COMPARISONS)) {
    const values = compared(samples, comparison);
    if (values.length > 0) spread[name] = spreadOf(values);
  }
  return { ratios: Object.fromEntries(Object.entries(spread).map(([name, { median }]) => [name, median])), spread };
}

function compared(samples: Samples, { workload, ours, other, pick, how }: Comparison): readonly number[] {
  const own = samples.get(workload)?.get(ours) ?? [];
  const others = samples.get(workload)?.get(other) ?? [];
  return own
    .map((sample, round) => {
      const beside = others[round];
      return how(pick(sample) ?? Number.NaN, beside === undefined ? Number.NaN : (pick(beside) ?? Number.NaN));
    })
    .filter((value) => Number.isFinite(value));
}

/** One setup under one workload, over the rounds. */
export function rowOf(setup: string, rounds: readonly Sample[]): Row {
  const over = (pick: Figure): Spread => spreadOf(rounds.map((sample) => pick(sample) ?? 0));
  const last = rounds.at(-1);
  const withMessages = rounds.flatMap(({ messages }) => (messages === null ? [] : [messages]));
  const roles = Object.keys(last?.cpuUs ?? {}) as Role[];
  return {
    setup,
    requests: sum(rounds.map((sample) => sample.requests)),
    failed: sum(rounds.map((sample) => sample.failed)),
    first_failure: rounds.find((sample) => sample.firstFailure !== null)?.firstFailure ?? null,
    throughput: over(throughput),
    latency_ms: { p50: over(p50), p95: over(p95), p99: over(p99) },
    first_byte_ms: {
      p50: over(firstByte),
      p95: over((sample) => sample.firstByteMs.p95),
      p99: over((sample) => sample.firstByteMs.p99),
    },
    cpu_us: Object.fromEntries(roles.map((role) => [role, over(cpu(role))])),
    rss_mb: Object.fromEntries(roles.map((role) => [role, rounded(last?.rssMb[role] ?? 0)])),
    messages:
      withMessages.length === 0
        ? null
        : {
            sent: spreadOf(withMessages.map(({ sent }) => sent)).median,
            received: spreadOf(withMessages.map(({ received }) => received)).median,
          },
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  const high = sorted[middle] ?? 0;
  const median = sorted.length % 2 === 1 ? high : (high + (sorted[middle - 1] ?? high)) / 2;
  return { median: rounded(median), min: rounded(sorted[0] ?? 0), max: rounded(sorted.at(-1) ?? 0) };
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
