import { maxOverMean, mean } from '../engine/figures.ts';
import type { PolicySpec } from '../engine/policy.ts';
import { createRandom } from '../engine/random.ts';
import type { SimRequest } from '../engine/request.ts';
import { simulate } from '../engine/simulate.ts';
import { drawRequests, readTrace } from '../engine/traces.ts';
import { leastInFlight, twoChoices } from '../policies/least-weighted.ts';
import { polled } from '../policies/polled.ts';
import { randomPolicy } from '../policies/random.ts';
import { roundRobin } from '../policies/round-robin.ts';
import { atMost, figureOf, type Column, type Row, type Sheet } from '../report/sheet.ts';
import { HOST, PATIENT_MS, type Scenario, type ScenarioOptions } from './scenario.ts';

const HOSTS = 8;
/** Far enough apart that a wave has ended when the next one comes. */
const APART_MS = 3_600_000;
const WAVES = [800, 800, 800, 1000];
const BASELINES: readonly PolicySpec[] = [
  randomPolicy,
  roundRobin,
  polled(1000),
  polled(50),
  twoChoices,
  leastInFlight,
];

const COLUMNS: readonly Column[] = [
  { key: 'off', title: '800 at once: farthest from 100 a host', digits: 0 },
  { key: 'between', title: '1,000 at once: most − fewest', digits: 0 },
  { key: 'work', title: 'requests of a wave, max/mean', digits: 3 },
];

/** Many requests in the same moment: what was just sent somewhere must count before anybody could have measured it. */
export const bursts: Scenario = { id: 'bursts', baselines: BASELINES, run: (options) => [sheetOf(options)] };

function sheetOf({ ours, seeds, progress }: ScenarioOptions): Sheet {
  const policies = ours === null ? BASELINES : [...BASELINES, ours];
  const rows = policies.map((spec): Row => {
    const runs = seeds.map((seed) => {
      const counts = countsOf(spec, seed);
      progress(spec.name);
      return counts;
    });
    const eight = runs.flatMap((waves) => waves.slice(0, 3));
    const thousand = runs.map((waves) => waves[3] ?? []);
    return {
      policy: spec.name,
      figures: {
        off: Math.max(...eight.flat().map((count) => Math.abs(count - 100))),
        between: Math.max(...thousand.map((counts) => Math.max(...counts) - Math.min(...counts))),
        work: mean([...eight, ...thousand].map(maxOverMean)),
      },
    };
  });
  return {
    id: 'bursts',
    title: 'Bursts',
    about:
      'Three waves of 800 and one of 1,000 requests of the Azure conversations on eight equal hosts, each wave in one moment, when the one before has ended. ' +
      'The first two columns are the worst of all waves and seeds.',
    columns: COLUMNS,
    rows,
    gates:
      ours === null
        ? []
        : [
            atMost('800 at once: farthest from 100 a host', figureOf(rows, ours.name, 'off'), 2, 0),
            atMost('1,000 at once: most − fewest', figureOf(rows, ours.name, 'between'), 1, 0),
          ],
    plots: [],
  };
}

/** How many requests of each wave every host got. */
function countsOf(spec: PolicySpec, seed: number): readonly (readonly number[])[] {
  const waveOf = WAVES.flatMap((size, wave) => Array.from({ length: size }, () => wave));
  const drawn = drawRequests(readTrace('azure-llm-2023', { faster: 1 }), {
    rate: 2 * waveOf.length,
    seconds: 1,
    random: createRandom(seed + 500),
  });
  const requests = waveOf.map((wave, id): SimRequest => {
    const size = drawn[id];
    if (size === undefined) throw new RangeError('too few requests were drawn');
    return { ...size, id, at: wave * APART_MS };
  });
  const speeds = Array.from({ length: HOSTS }, () => 1);
  const { picks } = simulate(
    { model: HOST, speeds, requests, changes: [], tries: 1, patienceMs: PATIENT_MS, seed },
    spec,
  );
  return WAVES.map((_, wave) =>
    speeds.map((_, host) => picks.filter((pick) => pick.host === host && pick.at === wave * APART_MS).length),
  );
}
