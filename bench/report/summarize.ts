import { isSound, type Sample } from '../measure.ts';
import type { Samples } from '../run-plan.ts';
import type { Role } from '../setups/setup.ts';
import type { Figure } from './figure.ts';
import { FIGURES } from './figures.ts';
import { cpu, perCore, type Measure, type Round, throughput } from './measures.ts';
import type { Goal, Percentiles, Results, Row, SoakRow, Spread } from './results.ts';
import { ratiosOf, rounded, spreadOf } from './spread.ts';

export type Summary = Pick<Results, 'ratios' | 'goals' | 'spread'>;

export interface Measured {
  readonly samples: Samples;
  readonly soak: readonly SoakRow[];
  readonly jsonParseNs: number;
  /** Of the machine. */
  readonly cores: number;
}

/** Compares round by round, what ran side by side, and takes medians. Figures that were not measured are left out. */
export function summarize(measured: Measured): Summary {
  const spread: Record<string, Spread> = {};
  const goals: Record<string, Goal> = {};
  const rounds = roundsOf(measured);
  for (const figure of FIGURES) {
    const values = rounds.map(figure.value).filter(Number.isFinite);
    if (values.length === 0) continue;
    const found = spreadOf(values);
    const { name, goal } = figure;
    spread[name] = found;
    if (goal !== undefined) goals[name] = goalOf(figure, goal, found, measured.cores);
  }
  return { ratios: ratiosOf(spread), goals, spread };
}

function goalOf({ cores: needed }: Figure, goal: NonNullable<Figure['goal']>, found: Spread, cores: number): Goal {
  const { median } = found;
  if (needed === undefined || cores >= needed) return { ...goal, median, met: verdict(goal, found) };
  return { ...goal, median, met: null, needs_cores: needed };
}

function verdict(goal: NonNullable<Figure['goal']>, { median, min, max }: Spread): boolean | null {
  const isKept = (value: number): boolean => ('at_most' in goal ? value <= goal.at_most : value >= goal.at_least);
  return isKept(min) !== isKept(max) && max - min > Math.abs(median) ? null : isKept(median);
}

function roundsOf({ samples, soak, jsonParseNs }: Measured): readonly Round[] {
  const lengths = [...samples.values()].flatMap((setups) => [...setups.values()].map(({ length }) => length));
  return Array.from({ length: Math.max(1, ...lengths) }, (_, at) => ({
    jsonParseNs,
    of(workload, setup, pick) {
      const sample = samples.get(workload)?.get(setup)?.[at];
      return (sample !== undefined && isSound(sample) ? pick(sample) : undefined) ?? Number.NaN;
    },
    soak: (setup) => soak.find((row) => row.setup === setup),
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
    jitter_ms: rounds.every(({ jitterMs }) => jitterMs.p99 === 0) ? null : times((sample) => sample.jitterMs),
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
