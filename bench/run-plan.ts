import { needsFirstWarmUp, stageStartMs, workloadMs } from './estimate.ts';
import { LoadGenerator } from './load/load-generator.ts';
import { type Idle, idleOf, measure, type Sample } from './measure.ts';
import type { Progress } from './progress.ts';
import type { Setup, SetupName } from './setups/setup.ts';
import { startSetups } from './setups/start-setups.ts';
import { type Plan, roundsOf, type Workload } from './workload.ts';

/** Samples by workload, then setup, one a round. */
export type Samples = ReadonlyMap<string, ReadonlyMap<SetupName, readonly Sample[]>>;

export interface RunOptions {
  /** Where everything that runs keeps its files. */
  readonly dir: string;
  /** Extra arguments of Node for the gateways with one worker. */
  readonly nodeArgs: readonly string[];
  readonly say: (line: string) => void;
  readonly progress: Progress;
}

const WARM_UP_AGAIN_MS = 250;

/** Every workload on every setup, round after round; every other round backwards, so that a drift hits all alike. */
export async function runPlan(plan: Plan, { dir, nodeArgs, say, progress }: RunOptions): Promise<Samples> {
  const samples = new Map<string, Map<SetupName, Sample[]>>();
  const load = await LoadGenerator.start(dir);
  const steps = plan.workloads.length;
  let step = 0;
  for (const stage of new Set(plan.workloads.map((workload) => workload.stage))) {
    const workloads = plan.workloads.filter((workload) => workload.stage === stage && workload.setups.length > 0);
    const names = new Set(workloads.flatMap(({ setups }) => setups));
    const echoed = workloads.filter(({ setups }) => setups.includes('echo'));
    say(`starting ${[...names].join(', ')}`);
    const payloads = (echoed.length === 0 ? workloads : echoed).map(({ payload }) => payload);
    const setups = await startSetups({ dir, stage, names, payloads: unique(payloads), nodeArgs });
    const idle = await warmUp(plan, workloads, setups.all, load);
    progress.done(stageStartMs(plan, stage));
    for (const workload of workloads) {
      step += 1;
      say(`${step} of ${steps}: ${workload.title}`);
      samples.set(workload.name, await rounds(plan, workload, { setups: setups.all, load, idle }));
      progress.done(workloadMs(plan, workload));
    }
    await setups.stop();
  }
  await load.stop();
  return samples;
}

/** Warms each setup up with the first workload that it has, and tells what they use afterwards when nothing is asked. */
async function warmUp(
  plan: Plan,
  workloads: readonly Workload[],
  setups: readonly Setup[],
  load: LoadGenerator,
): Promise<ReadonlyMap<Setup, Idle>> {
  for (const setup of setups) {
    const first = workloads.find((workload) => workload.setups.includes(setup.name));
    if (first === undefined) continue;
    const learns = needsFirstWarmUp(setup.name);
    await measure(
      load,
      setup,
      { ...first, rate: null, connections: 16 },
      { durationMs: learns ? plan.firstWarmUpMs : plan.warmUpMs },
    );
  }
  return idleOf(setups, plan.idleMs);
}

async function rounds(
  plan: Plan,
  workload: Workload,
  { setups, load, idle }: { setups: readonly Setup[]; load: LoadGenerator; idle: ReadonlyMap<Setup, Idle> },
): Promise<Map<SetupName, Sample[]>> {
  const of = new Map<SetupName, Sample[]>();
  const measured = setups.filter(({ name }) => workload.setups.includes(name));
  for (const setup of measured) await measure(load, setup, workload, { durationMs: plan.warmUpMs });
  for (let round = 0; round < roundsOf(plan, workload); round += 1) {
    const order = round % 2 === 0 ? measured : measured.toReversed();
    for (const setup of order) {
      await measure(load, setup, workload, { durationMs: WARM_UP_AGAIN_MS });
      const window = { durationMs: workload.durationMs, idle: idle.get(setup) ?? {} };
      of.set(setup.name, [...(of.get(setup.name) ?? []), await measure(load, setup, workload, window)]);
    }
  }
  return of;
}

function unique<T extends { readonly name: string }>(all: readonly T[]): readonly T[] {
  return [...new Map(all.map((one) => [one.name, one])).values()];
}
