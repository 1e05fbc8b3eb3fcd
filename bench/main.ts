/** `npm run bench`: what TokenLat costs beside what it cannot do without. See docs/performance.md. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { machine, versions } from './machine.ts';
import { measure, type Sample } from './measure.ts';
import { PEERS } from './peers/all.ts';
import type { Peer } from './peers/peer.ts';
import { markdown } from './report/markdown.ts';
import type { Results } from './report/results.ts';
import { rowOf, summarize } from './report/summarize.ts';
import { terminalTable } from './report/terminal-table.ts';
import { startScript, type Program } from './setups/child-process.ts';
import type { Setup, SetupName } from './setups/setup.ts';
import { startSetups } from './setups/start-setups.ts';
import { planOf, type Plan } from './workload.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    'no-write': { type: 'boolean', default: false },
    rounds: { type: 'string' },
    only: { type: 'string' },
    setups: { type: 'string' },
    profile: { type: 'string' },
    peers: { type: 'boolean', default: false },
    install: { type: 'boolean', default: false },
  },
});

const DOCS = join(import.meta.dirname, '../docs');
const WARM_UP_AGAIN_MS = 250;

/** Share of requests that may fail for want of a quiet machine. More than that is a fault, and no figure is worth anything. */
const TOLERATED = 0.05;

async function main(): Promise<void> {
  const plan = chosen(planOf(values.quick ? 'quick' : 'full', await usablePeers()));
  const dir = mkdtempSync(join(tmpdir(), 'tokenlat-bench-'));
  const payloads = [...new Map(plan.workloads.map(({ payload }) => [payload.name, payload])).values()];
  const profile = values.profile === undefined ? null : resolve(values.profile);
  const nodeArgs = profile === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`, '--cpu-prof-interval=200'];
  const names = new Set(plan.workloads.flatMap((workload) => workload.setups));
  say(`starting ${[...names].join(', ')} in ${dir}`);
  const setups = await startSetups({ dir, names, payloads, nodeArgs });
  const load = await startScript(join(import.meta.dirname, 'load-main.ts'), [], join(dir, 'load.log'));
  const samples = await run(plan, setups.all, load);
  await load.stop();
  await setups.stop();
  const results = resultsOf(plan, samples);
  process.stdout.write(terminalTable(results));
  const broken = results.workloads.flatMap(({ rows }) => rows).filter((row) => row.failed > row.requests * TOLERATED);
  if (broken.length > 0) {
    say(`too many requests failed in ${broken.length} rows; logs are in ${dir}`);
    process.exitCode = 1;
    return;
  }
  rmSync(dir, { recursive: true, force: true });
  if (values['no-write'] || values.only !== undefined || values.setups !== undefined || profile !== null) return;
  mkdirSync(DOCS, { recursive: true });
  writeFileSync(join(DOCS, 'performance.json'), `${JSON.stringify(results, null, 2)}\n`);
  writeFileSync(join(DOCS, 'performance.md'), markdown(results));
  say('wrote docs/performance.json and docs/performance.md');
}

/** The peers that are asked for and are there; the others are told of. */
async function usablePeers(): Promise<readonly Peer[]> {
  if (!values.peers) return [];
  const setups = values.setups?.split(',');
  const wanted = PEERS.filter(({ name }) => setups === undefined || setups.includes(name));
  for (const peer of wanted) {
    if (peer.isInstalled()) continue;
    if (!values.install) {
      say(`${peer.name} ${peer.version} is not installed and is left out: npm run bench -- --peers --install`);
      continue;
    }
    say(`installing ${peer.name} ${peer.version}`);
    await peer.install();
  }
  return wanted.filter((peer) => peer.isInstalled());
}

function chosen(plan: Plan): Plan {
  const only = values.only?.split(',');
  const setups = values.setups?.split(',');
  return {
    ...plan,
    rounds: values.rounds === undefined ? plan.rounds : Number(values.rounds),
    workloads: plan.workloads
      .filter(({ name }) => only === undefined || only.includes(name))
      .map((workload) => ({
        ...workload,
        setups: workload.setups.filter((name) => setups === undefined || setups.includes(name)),
      })),
  };
}

/** Every workload on every setup, round after round; every other round backwards, so that a drift hits all alike. */
async function run(
  plan: Plan,
  setups: readonly Setup[],
  load: Program,
): Promise<Map<string, Map<SetupName, Sample[]>>> {
  const samples = new Map<string, Map<SetupName, Sample[]>>();
  const warm = new Set<SetupName>();
  for (const workload of plan.workloads) {
    const of = new Map<SetupName, Sample[]>();
    samples.set(workload.name, of);
    const measured = setups.filter(({ name }) => workload.setups.includes(name));
    say(`${workload.title}: warm-up`);
    for (const setup of measured) {
      const isFirst = setup.processes.ext_proc !== undefined && !warm.has(setup.name);
      warm.add(setup.name);
      await measure(load, setup, { ...workload, rate: null }, isFirst ? plan.firstWarmUpMs : plan.warmUpMs);
    }
    for (let round = 0; round < plan.rounds; round += 1) {
      const order = round % 2 === 0 ? measured : measured.toReversed();
      for (const setup of order) {
        await measure(load, setup, workload, WARM_UP_AGAIN_MS);
        const sample = await measure(load, setup, workload, workload.durationMs);
        of.set(setup.name, [...(of.get(setup.name) ?? []), sample]);
      }
      say(`${workload.title}: round ${round + 1} of ${plan.rounds}`);
    }
  }
  return samples;
}

function resultsOf(plan: Plan, samples: ReadonlyMap<string, ReadonlyMap<SetupName, readonly Sample[]>>): Results {
  return {
    ...summarize(samples),
    mode: plan.mode,
    rounds: plan.rounds,
    date: new Date().toISOString().slice(0, 10),
    machine: machine(),
    versions: versions(),
    workloads: plan.workloads.map(({ name, title, setups }) => ({
      name,
      title,
      rows: setups.map((setup) => rowOf(setup, samples.get(name)?.get(setup) ?? [])),
    })),
  };
}

function say(line: string): void {
  process.stderr.write(`bench: ${line}\n`);
}

try {
  await main();
} catch (reason) {
  process.stderr.write(`bench: ${reason instanceof Error ? (reason.stack ?? reason.message) : String(reason)}\n`);
  process.exitCode = 1;
}
process.exit();
