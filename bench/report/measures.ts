import type { Sample } from '../measure.ts';
import type { Role, SetupName } from '../setups/setup.ts';
import type { SoakRow } from './results.ts';

/** A number of one window. */
export type Measure = (sample: Sample) => number | undefined;

/** What a figure of one round is made of: NaN where something was not measured. */
export interface Round {
  of(workload: string, setup: SetupName, pick: Measure): number;
  /** How a setup came through the steady load; there is one for all rounds. */
  soak(setup: SetupName): SoakRow | undefined;
  /** CPU nanoseconds that one `JSON.parse` takes for a byte of the prompt of 1 MB. */
  readonly jsonParseNs: number;
}

/** How a figure of a round comes about: NaN where something was not measured. */
export type Value = (round: Round) => number;

export const cpu =
  (role: Role): Measure =>
  (sample) =>
    sample.cpuUs[role];
export const throughput: Measure = (sample) => sample.throughput;
export const p50: Measure = (sample) => sample.latencyMs.p50;
export const p95: Measure = (sample) => sample.latencyMs.p95;
export const p99: Measure = (sample) => sample.latencyMs.p99;
export const firstByte: Measure = (sample) => sample.firstByteMs.p50;
export const jitter50: Measure = (sample) => sample.jitterMs.p50;
export const jitter99: Measure = (sample) => sample.jitterMs.p99;
export const failedShare: Measure = ({ requests, failed }) => failed / (requests + failed);

/** Requests that one second of CPU serves, whoever uses it. */
export const perCore: Measure = (sample) => {
  const us = Object.values(sample.cpuUs).reduce((total, value) => total + value, 0);
  return us > 0 ? 1e6 / us : undefined;
};

/** A measure of one setup. */
export const plainly =
  (workload: string, pick: Measure, setup: SetupName): Value =>
  (round) =>
    round.of(workload, setup, pick);

/** `ours` ÷ `other`. */
export const ratio =
  (workload: string, pick: Measure, other: SetupName, ours: SetupName = 'tokenlat'): Value =>
  (round) =>
    round.of(workload, ours, pick) / round.of(workload, other, pick);

/** One setup under `workload` ÷ one, the same unless it is named, under `base`. */
export const between =
  (workload: string, base: string, pick: Measure, setup: SetupName, baseSetup: SetupName = setup): Value =>
  (round) =>
    round.of(workload, setup, pick) / round.of(base, baseSetup, pick);

/** What a setup adds to the model server asked directly. */
export const added =
  (workload: string, pick: Measure, setup: SetupName = 'tokenlat'): Value =>
  (round) =>
    round.of(workload, setup, pick) - round.of(workload, 'direct', pick);

/** What TokenLat adds ÷ what `other` adds. */
export const addedRatio =
  (workload: string, pick: Measure, other: SetupName): Value =>
  (round) => {
    const ours = added(workload, pick)(round);
    const theirs = added(workload, pick, other)(round);
    // Where a gateway seems to take time away, the machine was busy with something else.
    return ours > 0 && theirs > 0 ? ours / theirs : Number.NaN;
  };

/** CPU a byte by which the longer prompt is dearer than the shorter one in ext_proc, beyond the echo, ÷ that of `JSON.parse`. */
export const bodyGrowth: Value = (round) =>
  (growthNs(round, 'tokenlat-minimal') - growthNs(round, 'echo')) / round.jsonParseNs;

function growthNs(round: Round, setup: SetupName): number {
  const [short, long] = (['prompt-8k', 'prompt-1m'] as const).map((name) => round.of(name, setup, cpu('ext_proc')));
  return (((long ?? Number.NaN) - (short ?? Number.NaN)) * 1000) / ((1 << 20) - 8192);
}

/** A shorter load does not tell how memory goes. */
const SOAK_MINUTES = 10;

/** Memory at the end of a steady load ÷ when it was warm; NaN for a load of less than ten minutes. */
export const memoryGrowth =
  (setup: SetupName): Value =>
  (round) => {
    const row = round.soak(setup);
    return row === undefined || row.minutes < SOAK_MINUTES
      ? Number.NaN
      : row.rss_mb.last_fifth / row.rss_mb.second_fifth;
  };
