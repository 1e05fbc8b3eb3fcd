import type { Payload } from './payload.ts';
import type { SetupName } from './setups/setup.ts';

/** One kind of load. */
export interface Workload {
  readonly name: string;
  readonly title: string;
  /** Setups of one stage run side by side; the next stage starts its own. */
  readonly stage: 'core' | 'limits' | 'scale';
  readonly payload: Payload;
  readonly connections: number;
  /** Requests a second of an open loop; null for a closed loop. */
  readonly rate: number | null;
  readonly durationMs: number;
  readonly setups: readonly SetupName[];
  /** The model server itself fails some. */
  readonly failing?: true;
  /** For an estimate: how long what is under way goes on after a window. */
  readonly tailMs?: number;
  /** No goal depends on it: three rounds do. */
  readonly minor?: true;
}

/** What a run of the bench does. */
export interface Plan {
  readonly mode: 'quick' | 'full';
  readonly rounds: number;
  /** Before a gateway's first workload: it takes thousands of requests until V8 has compiled all of its code well. */
  readonly firstWarmUpMs: number;
  /** Before any other workload. */
  readonly warmUpMs: number;
  /** For how long nothing is asked, to know what the processes use by themselves. */
  readonly idleMs: number;
  readonly workloads: readonly Workload[];
}

const MINOR_ROUNDS = 3;

/** For an estimate: what passes between two windows, and how long a start takes. */
const BETWEEN_MS = 450;
const START_MS = 2000;

/** In how many rounds a workload of a plan is measured. */
export function roundsOf({ rounds }: Plan, { minor }: Workload): number {
  return minor === true ? Math.min(MINOR_ROUNDS, rounds) : rounds;
}

/** These run no code of a compiler's. */
export function needsFirstWarmUp(name: SetupName): boolean {
  return name !== 'direct' && name !== 'envoy';
}

/** How long a plan takes on a quiet machine, in seconds. */
export function estimate(plan: Plan): number {
  let ms = 0;
  for (const workload of plan.workloads) {
    const tail = workload.tailMs ?? 0;
    const window = workload.durationMs + tail + BETWEEN_MS;
    ms += workload.setups.length * (plan.warmUpMs + tail + roundsOf(plan, workload) * (window + tail));
  }
  for (const stage of new Set(plan.workloads.map((workload) => workload.stage))) {
    const names = new Set(plan.workloads.filter((one) => one.stage === stage).flatMap(({ setups }) => setups));
    const learning = [...names].filter(needsFirstWarmUp).length;
    ms += plan.idleMs + names.size * START_MS + learning * plan.firstWarmUpMs;
  }
  return Math.round(ms / 1000);
}
