import { estimate, soakSeconds, stageStartMs, workloadMs } from './estimate.ts';
import type { Plan, Workload } from './workload.ts';

/** Some workloads of a plan, measured in one run. */
export interface Part {
  readonly names: readonly string[];
  /** On a quiet machine. */
  readonly seconds: number;
}

/** Cuts a plan into runs of at most `maxSeconds` each, in its order; what is compared with each other stays together. */
export function partsOf(plan: Plan, maxSeconds: number): readonly Part[] {
  const parts: Workload[][] = [];
  const seconds = (workloads: readonly Workload[]): number => estimate({ ...plan, workloads });
  for (const group of groupsOf(plan.workloads)) {
    const last = parts.at(-1);
    if (last !== undefined && seconds([...last, ...group]) <= maxSeconds) last.push(...group);
    else parts.push([...group]);
  }
  return parts.map((workloads) => ({ names: workloads.map(({ name }) => name), seconds: seconds(workloads) }));
}

function groupsOf(workloads: readonly Workload[]): readonly (readonly Workload[])[] {
  const groups: Workload[][] = [];
  for (const workload of workloads) {
    const last = groups.at(-1);
    if (last !== undefined && workload.compared === true) last.push(workload);
    else groups.push([workload]);
  }
  return groups;
}

export interface ListOptions {
  /** The words that each command has besides its workloads. */
  readonly words: string;
  readonly maxSeconds: number;
  readonly soakMinutes: number;
}

/** What `--list` prints: the workloads of a plan, and commands that refresh docs/ in parts. */
export function listText(plan: Plan, { words, maxSeconds, soakMinutes }: ListOptions): string {
  const stages = new Map(plan.workloads.map(({ stage }) => [stage, stageStartMs(plan, stage)]));
  const lines = plan.workloads.map(
    (workload) => `  ${workload.name.padEnd(16)} ${minutes(workloadMs(plan, workload) / 1000)}  ${workload.title}`,
  );
  const starts = [...stages].map(([stage, ms]) => `${stage} ${minutes(ms / 1000).trim()}`).join(', ');
  const parts = partsOf(plan, maxSeconds).map(
    ({ names, seconds }) => `  npm run bench -- ${words} --only ${names.join(',')}   # ${minutes(seconds).trim()}`,
  );
  return [
    `workloads, in minutes on a quiet machine (and to start and warm up what they need, once a run: ${starts})`,
    ...lines,
    `  ${'soak'.padEnd(16)} ${minutes(soakMinutes * 60)}  memory under a steady load`,
    '',
    `everything in parts of at most ${Math.round(maxSeconds / 60)} minutes, each of which is merged into docs/`,
    ...parts,
    `  npm run bench -- ${words} --only soak   # ${minutes(soakSeconds(soakMinutes)).trim()}`,
    '',
  ].join('\n');
}

function minutes(seconds: number): string {
  return `${(seconds / 60).toFixed(1)} min`.padStart(8);
}
