import type { SetupName } from './setups/setup.ts';
import { roundsOf, type Plan, type Workload } from './workload.ts';

/** What passes from one window to the next, the short one between them too; how long a start takes, and what a slow setup adds to a window. */
const BETWEEN_MS = 450;
const START_MS = 2500;
const REST_OF_SLOW_MS: Readonly<Partial<Record<SetupName, number>>> = { litellm: 800 };

/** These run no code of a compiler's. */
export function needsFirstWarmUp(name: SetupName): boolean {
  return name !== 'direct' && name !== 'envoy';
}

/** Milliseconds for which a workload is warmed up and measured on all of its setups. */
export function workloadMs(plan: Plan, workload: Workload): number {
  const tail = workload.tailMs ?? 0;
  const windows = roundsOf(plan, workload);
  const ofSetup = (name: SetupName): number =>
    plan.warmUpMs + windows * (workload.durationMs + BETWEEN_MS + 2 * (tail + (REST_OF_SLOW_MS[name] ?? 0)));
  return workload.setups.reduce((total, name) => total + ofSetup(name), 0);
}

/** Milliseconds until everything that a stage of a plan measures has started and is warm. */
export function stageStartMs(plan: Plan, stage: Workload['stage']): number {
  const names = new Set(plan.workloads.filter((one) => one.stage === stage).flatMap(({ setups }) => setups));
  const learning = [...names].filter(needsFirstWarmUp).length;
  return plan.idleMs + names.size * START_MS + learning * plan.firstWarmUpMs;
}

/** Until a steady load begins on everything that it measures. */
export const SOAK_START_SECONDS = 100;

/** How long a steady load takes; 0 for none. */
export function soakSeconds(minutes: number): number {
  return minutes === 0 ? 0 : minutes * 60 + SOAK_START_SECONDS;
}

/** How long a plan takes on a quiet machine, in seconds. */
export function estimate(plan: Plan): number {
  const workloads = plan.workloads.reduce((total, workload) => total + workloadMs(plan, workload), 0);
  const stages = [...new Set(plan.workloads.map(({ stage }) => stage))];
  return Math.round((workloads + stages.reduce((total, stage) => total + stageStartMs(plan, stage), 0)) / 1000);
}
