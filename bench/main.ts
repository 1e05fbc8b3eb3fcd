/** `npm run bench`: what TokenLat costs beside what it cannot do without, and beside its peers. See docs/performance.md. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { commandLine, orEnd } from '../scripts/command-line.mjs';
import { jsonParseCost } from './json-parse-cost.ts';
import { machine, versions } from './machine.ts';
import { isSound } from './measure.ts';
import { estimate, soakSeconds } from './estimate.ts';
import { chosen, type Options, readOptions, SOAK_MINUTES, USAGE } from './options.ts';
import { listText } from './parts.ts';
import { PEERS } from './peers/all.ts';
import type { Peer } from './peers/peer.ts';
import { fullPlan, quickPlan } from './plans.ts';
import { createProgress } from './progress.ts';
import { busiestProfile } from './report/busiest-profile.ts';
import { flameSvg } from './report/flame-svg.ts';
import { markdown } from './report/markdown.ts';
import { merged } from './report/merge.ts';
import { plots } from './report/plots.ts';
import type { Results, SoakRow } from './report/results.ts';
import { rowOf, summarize } from './report/summarize.ts';
import { terminalTable } from './report/terminal-table.ts';
import { runPlan, type Samples } from './run-plan.ts';
import { soak } from './soak.ts';
import { roundsOf, type Plan } from './workload.ts';

const DOCS = join(import.meta.dirname, '../docs');
const JSON_FILE = join(DOCS, 'performance.json');

const FLAME_FILE = join(DOCS, 'performance/request-flow.svg');
/** Share of a profile in which V8 has not compiled all code well. */
const COLD = 0.5;

/** A run in parts has none that is longer, with some minutes to spare below a quarter of an hour. */
const PART_SECONDS = 690;

async function main(): Promise<void> {
  const options = commandLine({ usage: USAGE, read: readOptions });
  if (options.report) {
    write(readResults());
    return;
  }
  if (options.list) {
    process.stdout.write(list(options));
    return;
  }
  const peers = await usablePeers(options);
  const names = peers.map(({ name }) => name);
  const plan = orEnd(() => chosen(options.quick ? quickPlan(names) : fullPlan(names), options));
  const dir = mkdtempSync(join(tmpdir(), 'tokenlat-bench-'));
  const seconds = estimate(plan) + soakSeconds(options.soakMinutes);
  say(`about ${Math.ceil(seconds / 60)} minutes on a quiet machine; logs are in ${dir}`);
  const progress = createProgress({ totalMs: seconds * 1000, now: () => performance.now() });
  const profile = options.flame ? join(dir, 'profiles') : options.profile === null ? null : resolve(options.profile);
  const nodeArgs = profile === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`, '--cpu-prof-interval=200'];
  const elapsed = (line: string): void => say(`${progress.text()}: ${line}`);
  const samples = await runPlan(plan, { dir, nodeArgs, say: elapsed, progress });
  const { soakMinutes: minutes, setups } = options;
  const soaked = minutes === 0 ? [] : await soak({ dir, minutes, setups, peers: names, say: elapsed, progress });
  const results = resultsOf(plan, { samples, soaked, peers });
  process.stdout.write(terminalTable(results));
  if (options.json !== null) writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`);
  if (isBroken(plan, results)) {
    say(`too many requests failed; logs are in ${dir}`);
    process.exitCode = 1;
    return;
  }
  if (options.flame && profile !== null) {
    writeFileSync(FLAME_FILE, flameSvg(busiestProfile(profile, COLD)));
    say(`wrote ${relative(process.cwd(), FLAME_FILE)}`);
  }
  rmSync(dir, { recursive: true, force: true });
  say('done');
  if (options.writes === 'anew') write(results);
  if (options.writes === 'merged') write(existsSync(JSON_FILE) ? merged(readResults(), results, NAMES) : results);
}

/** Every workload that docs/performance.json may have, in its order. */
const NAMES = fullPlan([]).workloads.map(({ name }) => name);

/** What there is to measure. */
function list({ peers, quick, rounds, setups }: Options): string {
  const names = peers ? PEERS.map(({ name }) => name) : [];
  const plan = quick ? quickPlan(names) : fullPlan(names);
  const words = [
    ...(quick ? ['--quick'] : []),
    ...(peers ? ['--peers'] : []),
    ...(rounds === null ? [] : [`--rounds ${rounds}`]),
    ...(setups === null ? [] : [`--setups ${setups.join(',')}`]),
    '--merge',
  ];
  const part = orEnd(() => chosen(plan, { rounds, setups, only: null }));
  return listText(part, { words: words.join(' '), maxSeconds: PART_SECONDS, soakMinutes: SOAK_MINUTES });
}

/** The peers that are asked for and are there; the others are told of. */
async function usablePeers({ peers, install, setups }: Options): Promise<readonly Peer[]> {
  if (!peers) return [];
  const wanted = PEERS.filter(({ name }) => setups === null || setups.includes(name));
  for (const peer of wanted) {
    if (peer.isInstalled()) continue;
    if (install) {
      say(`installing ${peer.name} ${peer.version}`);
      await peer.install();
    } else say(`${peer.name} ${peer.version} is not installed and is left out: npm run bench -- --peers --install`);
  }
  return wanted.filter((peer) => peer.isInstalled());
}

interface Measured {
  readonly samples: Samples;
  readonly soaked: readonly SoakRow[];
  readonly peers: readonly Peer[];
}

function resultsOf(plan: Plan, { samples, soaked, peers }: Measured): Results {
  const jsonParseNs = jsonParseCost();
  const date = new Date().toISOString().slice(0, 10);
  return {
    ...summarize({ samples, soak: soaked, jsonParseNs, cores: cpus().length }),
    json_parse_ns_per_byte: Number(jsonParseNs.toFixed(2)),
    mode: plan.mode,
    date,
    machine: machine(),
    versions: { ...versions(), ...Object.fromEntries(peers.map(({ name, version }) => [name, version])) },
    peers: Object.fromEntries(peers.map(({ name, what }) => [name, what])),
    workloads: plan.workloads.map((workload) => ({
      name: workload.name,
      title: workload.title,
      rounds: roundsOf(plan, workload),
      date,
      rows: workload.setups.map((setup) => rowOf(setup, samples.get(workload.name)?.get(setup) ?? [])),
    })),
    soak: soaked,
  };
}

/** A peer that fails shows it in its rows and in figures that are missing; where one of ours fails, nothing is to be told. */
function isBroken(plan: Plan, { workloads }: Results): boolean {
  const failing = new Set(plan.workloads.flatMap((workload) => (workload.failing === true ? [workload.name] : [])));
  const peers = new Set<string>(PEERS.map(({ name }) => name));
  return workloads.some(
    ({ name, rows }) => !failing.has(name) && rows.some((row) => !peers.has(row.setup) && !isSound(row)),
  );
}

function readResults(): Results {
  return JSON.parse(readFileSync(JSON_FILE, 'utf8')) as Results;
}

function write(results: Results): void {
  mkdirSync(join(DOCS, 'images'), { recursive: true });
  writeFileSync(JSON_FILE, `${JSON.stringify(results, null, 2)}\n`);
  const drawn = plots(results);
  for (const { file, svg } of drawn) writeFileSync(join(DOCS, 'images', file), svg);
  writeFileSync(join(DOCS, 'performance.md'), markdown(results, drawn));
  say('wrote docs/performance.json, docs/performance.md and their plots');
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
