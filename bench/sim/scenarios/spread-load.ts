import { mean, percentile, totals, ttfts } from '../engine/figures.ts';
import type { PolicySpec } from '../engine/policy.ts';
import { simulate, type Answer, type World } from '../engine/simulate.ts';
import { readTrace } from '../engine/traces.ts';
import { leastInFlight, twoChoices, weightedLeast, weightedTwoChoices } from '../policies/least-weighted.ts';
import { completionAverage } from '../policies/completion-average.ts';
import { polled } from '../policies/polled.ts';
import { randomPolicy } from '../policies/random.ts';
import { roundRobin } from '../policies/round-robin.ts';
import { tokenlatWithoutLimits } from '../policies/tokenlat.ts';
import { atMost, figureOf, type Column, type Gate, type Plot, type Row, type Sheet } from '../report/sheet.ts';
import { HOST, PATIENT_MS, type Scenario, type ScenarioOptions } from './scenario.ts';

const COLUMNS: readonly Column[] = [
  { key: 'ttft50', title: 'TTFT p50 s', digits: 2 },
  { key: 'ttft95', title: 'TTFT p95 s', digits: 2 },
  { key: 'ttft99', title: 'TTFT p99 s', digits: 2 },
  { key: 'total95', title: 'whole answer p95 s', digits: 1 },
];

/** What chance in ties may change from run to run. */
const TOLERANCE = 1.02;
const POLLED_1S = polled(1000);

interface Setting {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly speeds: readonly number[];
  readonly faster: number;
  readonly baselines: readonly PolicySpec[];
  readonly gates: (rows: readonly Row[], ours: string) => readonly Gate[];
}

/** T1: equal hosts. */
export const equalHosts = spreadLoad({
  id: 'equal-hosts',
  title: 'Eight equal hosts',
  about: 'The Azure conversations at 3.4 times their speed (18.8 requests a second) on eight equal hosts.',
  speeds: Array.from({ length: 8 }, () => 1),
  faster: 3.4,
  baselines: [randomPolicy, roundRobin, polled(5000), POLLED_1S, polled(50), twoChoices, leastInFlight],
  gates: (rows, ours) => [
    ...noWorse(rows, ours, leastInFlight.name, TOLERANCE),
    atMost(
      'TTFT p99 in parts of polled 1 s',
      figureOf(rows, ours, 'ttft99') / figureOf(rows, POLLED_1S.name, 'ttft99'),
      0.2,
    ),
  ],
});

/** T2: two hosts of half the speed, which nobody told the router. */
export const mixedHosts = spreadLoad({
  id: 'mixed-hosts',
  title: 'Six full and two half-speed hosts',
  about:
    'The same at 3.0 times their speed (16.6 requests a second) on six hosts and two of half the speed. Only the policies marked ' +
    '"configured" are told the speeds; the others have to find out.',
  speeds: [1, 1, 1, 1, 1, 1, 0.5, 0.5],
  faster: 3,
  baselines: [
    randomPolicy,
    roundRobin,
    POLLED_1S,
    polled(50),
    twoChoices,
    leastInFlight,
    completionAverage,
    weightedTwoChoices,
    weightedLeast,
    tokenlatWithoutLimits,
  ],
  gates: (rows, ours) => noWorse(rows, ours, weightedLeast.name, TOLERANCE),
});

function noWorse(rows: readonly Row[], ours: string, other: string, times: number): readonly Gate[] {
  return COLUMNS.filter(({ key }) => key !== 'ttft50').map(({ key, title, digits }) =>
    atMost(`${title}, ${times} × ${other}`, figureOf(rows, ours, key), figureOf(rows, other, key) * times, digits + 1),
  );
}

function spreadLoad(setting: Setting): Scenario {
  return { id: setting.id, baselines: setting.baselines, run: (options) => [sheetOf(setting, options)] };
}

function sheetOf(setting: Setting, { ours, seeds, progress }: ScenarioOptions): Sheet {
  const { id, title, about, speeds, faster, baselines, gates } = setting;
  const requests = readTrace('azure-llm-2023', { faster });
  const world: Omit<World, 'seed'> = { model: HOST, speeds, requests, changes: [], tries: 1, patienceMs: PATIENT_MS };
  const firsts = new Map<string, readonly Answer[]>();
  const policies = ours === null ? baselines : [...baselines, ours];
  const rows = policies.map((spec): Row => {
    const runs = seeds.map((seed) => {
      const { answers } = simulate({ ...world, seed }, spec);
      progress(spec.name);
      return answers;
    });
    firsts.set(spec.name, runs[0] ?? []);
    const over = (figure: (answers: readonly Answer[]) => number): number => mean(runs.map(figure));
    return {
      policy: spec.name,
      figures: {
        ttft50: over((answers) => percentile(ttfts(answers), 0.5)),
        ttft95: over((answers) => percentile(ttfts(answers), 0.95)),
        ttft99: over((answers) => percentile(ttfts(answers), 0.99)),
        total95: over((answers) => percentile(totals(answers), 0.95)),
      },
    };
  });
  const plots = [plotOf(setting, firsts)];
  return { id, title, about, columns: COLUMNS, rows, gates: ours === null ? [] : gates(rows, ours.name), plots };
}

/** The share of requests whose first token came within so many seconds. */
function plotOf({ id, title }: Setting, answers: ReadonlyMap<string, readonly Answer[]>): Plot {
  const most = 4;
  const lines = [...answers].map(([name, of]) => {
    const sorted = ttfts(of).toSorted((left, right) => left - right);
    const points: [number, number][] = [];
    let count = 0;
    for (let step = 0; step <= 100; step += 1) {
      const seconds = (most * step) / 100;
      while ((sorted[count] ?? Infinity) <= seconds) count += 1;
      points.push([seconds, count / sorted.length]);
    }
    return { name, points };
  });
  return {
    file: `routing-${id}.svg`,
    title: `${title}: share of requests with a first token`,
    x: { title: 'seconds after the request', most },
    y: { title: 'share', most: 1 },
    lines,
    marked: [],
  };
}
