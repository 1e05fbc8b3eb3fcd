import type { HostModel } from '../engine/host.ts';
import type { PolicySpec } from '../engine/policy.ts';
import type { Sheet } from '../report/sheet.ts';

/** The host of all scenarios: what one GPU with continuous batching does with a model of medium size. */
export const HOST: HostModel = {
  slots: 32,
  prefillPerSecond: 8000,
  prefillSlowdown: 0.5,
  msPerToken: 25,
  cacheBlocks: 0,
  tokensPerBlock: 512,
  models: null,
};

/** Long enough that nobody gives up. */
export const PATIENT_MS = 3_600_000;

export interface ScenarioOptions {
  /** The policy whose gates are checked; null where only baselines run. */
  readonly ours: PolicySpec | null;
  /** Seeds of chance: every figure is the mean over them unless its column says otherwise. */
  readonly seeds: readonly number[];
  /** Called after each run. */
  readonly progress: (policy: string) => void;
}

export interface Scenario {
  readonly id: string;
  readonly baselines: readonly PolicySpec[];
  /** Runs of the progress bar: policies times runs of each. */
  readonly run: (options: ScenarioOptions) => readonly Sheet[];
}
