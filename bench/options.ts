import { parseArgs } from 'node:util';
import { positive, refuseUnknown } from '../scripts/command-line.mjs';
import type { SetupName } from './setups/setup.ts';
import type { Plan } from './workload.ts';

/** What the command line of the bench says. */
export interface Options {
  readonly quick: boolean;
  readonly peers: boolean;
  readonly install: boolean;
  /** Null for the number of the plan. */
  readonly rounds: number | null;
  readonly only: readonly string[] | null;
  readonly setups: readonly string[] | null;
  /** A short run with a CPU profile that becomes a picture in docs/. */
  readonly flame: boolean;
  /** Folder for CPU profiles. */
  readonly profile: string | null;
  /** Minutes of steady load on each setup, 0 for none. */
  readonly soakMinutes: number;
  /** File for the results as JSON. */
  readonly json: string | null;
  /** Nothing is measured: the page and the plots are made again from docs/performance.json. */
  readonly report: boolean;
  /** Nothing is measured: what there is to measure is told, and how long it takes. */
  readonly list: boolean;
  /** Is docs/ written, and does what is not measured now stay there? */
  readonly writes: 'no' | 'anew' | 'merged';
}

/** How it is called. */
export const USAGE = `npm run bench -- [options]
  --quick          fewer and shorter rounds
  --peers          other gateways as well, those that are installed
  --install        installs them first
  --rounds N       rounds of each workload
  --list           measures nothing: tells the workloads, how long each takes, and commands for a run in parts
  --only A,B       only these workloads; 'soak' is one, of ten minutes unless --soak tells otherwise
  --setups A,B     only these setups
  --soak 10m       minutes of steady load on each setup
  --profile DIR    CPU profiles
  --flame          a picture of where the CPU of a worker goes: docs/performance/request-flow.svg
  --json FILE      the results as JSON
  --merge          what is measured is written into docs/ beside what stands there, a part too
  --no-write       leaves docs/ as it is
  --report         measures nothing: makes docs/performance.md again from docs/performance.json`;

/** The steady load, where a workload is named. */
const SOAK = 'soak';
export const SOAK_MINUTES = 10;

/** Reads the command line. Throws an `Error` that says what is wrong with it. */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      peers: { type: 'boolean', default: false },
      install: { type: 'boolean', default: false },
      'no-write': { type: 'boolean', default: false },
      rounds: { type: 'string' },
      only: { type: 'string' },
      setups: { type: 'string' },
      profile: { type: 'string' },
      soak: { type: 'string' },
      json: { type: 'string' },
      merge: { type: 'boolean', default: false },
      report: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      flame: { type: 'boolean', default: false },
    },
  });
  const only = values.only?.split(',') ?? null;
  const isPart = values.only !== undefined || values.setups !== undefined || values.profile !== undefined;
  const options: Options = {
    quick: values.quick,
    peers: values.peers || values.install,
    install: values.install,
    rounds: values.rounds === undefined ? null : positive('--rounds', values.rounds),
    only: only?.filter((name) => name !== SOAK) ?? null,
    setups: values.setups?.split(',') ?? null,
    profile: values.profile ?? null,
    soakMinutes: soakMinutesOf(values.soak, only?.includes(SOAK) === true),
    json: values.json ?? null,
    report: values.report,
    list: values.list,
    flame: values.flame,
    writes: values['no-write'] || (isPart && !values.merge) ? 'no' : values.merge ? 'merged' : 'anew',
  };
  return values.flame ? { ...options, ...FLAME } : options;
}

function soakMinutesOf(said: string | undefined, isNamed: boolean): number {
  if (said === undefined) return isNamed ? SOAK_MINUTES : 0;
  return positive('--soak', said.replace(/m$/, ''));
}

/** Plain chat on the gateway with everything on, whatever else was said. */
const FLAME = { rounds: 3, only: ['plain'], setups: ['tokenlat'], writes: 'no' } as const;

/** Leaves of a plan what was asked for. Throws an `Error` for a name that the plan does not have. */
export function chosen(plan: Plan, { rounds, only, setups }: Pick<Options, 'rounds' | 'only' | 'setups'>): Plan {
  const known = new Set(plan.workloads.flatMap((workload) => workload.setups));
  refuseUnknown('--only', only ?? [], [...plan.workloads.map(({ name }) => name), SOAK]);
  refuseUnknown('--setups', setups ?? [], [...known]);
  const isWanted = (name: SetupName): boolean => setups === null || setups.includes(name);
  return {
    ...plan,
    rounds: rounds ?? plan.rounds,
    workloads: plan.workloads
      .filter(({ name }) => only === null || only.includes(name))
      .map((workload) => ({ ...workload, setups: workload.setups.filter(isWanted) }))
      .filter((workload) => workload.setups.length > 0),
  };
}
