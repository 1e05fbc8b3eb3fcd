import { isSound, type Sample } from '../measure.ts';
import type { Samples } from '../run-plan.ts';
import type { Role } from '../setups/setup.ts';
import { cpu, type Figure, FIGURES, perCore, type Measure, type Round, throughput } from './figures.ts';
import type { Goal, Percentiles, Results, Row, Spread } from './results.ts';

export type Summary = Pick<Results, 'ratios' | 'goals' | 'spread'>;

/** Compares round by round, what ran side by side, and takes medians. Figures that were not measured are left out. */
export function summarize(samples: Samples, jsonParseNs: number): Summary {
  const spread: Record<string, Spread> = {};
  const goals: Record<string, Goal> = {};
  const ratios: Record<string, Record<string, number>> = {};
  const rounds = roundsOf(samples, jsonParseNs);
  for (const { name, goal, value } of FIGURES) {
    const values = rounds.map(value).filter(Number.isFinite);
    if (values.length === 0) continue;
    const found = spreadOf(values);
    const { median } = found;
    spread[name] = found;
    const [group = '', figure = ''] = name.split('.');
    ratios[group] = { ...ratios[group], [figure]: median };
    if (goal === undefined) continue;
    goals[name] = { ...goal, median, met: verdict(goal, found) };
  }
  return { ratios, goals, spread };
}

function verdict(goal: NonNullable<Figure['goal']>, { median, min, max }: Spread): boolean | null {
  const isKept = (value: number): boolean => ('at_most' in goal ? value <= goal.at_most : value >= goal.at_least);
  return isKept(min) !== isKept(max) && max - min > Math.abs(median) ? null : isKept(median);
}

function roundsOf(samples: Samples, jsonParseNs: number): readonly Round[] {
  const lengths = [...samples.values()].flatMap((setups) => [...setups.values()].map(({ length }) => length));
  return Array.from({ length: Math.max(0, ...lengths) }, (_, at) => ({
    jsonParseNs,
    of(workload, setup, pick) {
      const sample = samples.get(workload)?.get(setup)?.[at];
      return (sample !== undefined && isSound(sample) ? pick(sample) : undefined) ?? Number.NaN;
    },
  }));
}

/** One setup under one workload, over the rounds. */
export function rowOf(setup: string, rounds: readonly Sample[]): Row {
  const over = (pick: Measure): Spread => spreadOf(rounds.map((sample) => pick(sample) ?? 0));
  const times = (of: (sample: Sample) => Sample['latencyMs']): Percentiles => ({
    p50: over((sample) => of(sample).p50),
    p95: over((sample) => of(sample).p95),
    p99: over((sample) => of(sample).p99),
  });
  const last = rounds.at(-1);
  const withMessages = rounds.flatMap(({ messages }) => (messages === null ? [] : [messages]));
  const roles = Object.keys(last?.cpuUs ?? {}) as Role[];
  return {
    setup,
    requests: sum(rounds.map((sample) => sample.requests)),
    failed: sum(rounds.map((sample) => sample.failed)),
    first_failure: rounds.find((sample) => sample.firstFailure !== null)?.firstFailure ?? null,
    throughput: over(throughput),
    per_core: roles.length === 0 ? null : over(perCore),
    latency_ms: times((sample) => sample.latencyMs),
    first_byte_ms: times((sample) => sample.firstByteMs),
    gap_ms: times((sample) => sample.gapMs),
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
  return Math.round(value * 10_000) / 10_000;
}
