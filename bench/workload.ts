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
  /** The workload before it is what it is compared with: they are measured in one run. */
  readonly compared?: true;
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

/** In how many rounds a workload of a plan is measured. */
export function roundsOf({ rounds }: Plan, { minor }: Workload): number {
  return minor === true ? Math.min(MINOR_ROUNDS, rounds) : rounds;
}
