import type { SurgePolicy } from '../../../src/core/surge.ts';
import { mean, percentile } from '../engine/figures.ts';
import { createRandom } from '../engine/random.ts';
import { playFleet, type Handled, type User, whatOf } from '../engine/surge-fleet.ts';
import { atLeast, atMost, figureOf, type Column, type Plot, type Row, type Sheet } from '../report/sheet.ts';
import { readServiceTimes } from '../service-times.ts';
import type { Scenario, ScenarioOptions } from './scenario.ts';

/** Requests a second, each for so many seconds; the third level is entered above 12,000. */
const PHASES = [
  { rate: 7000, seconds: 6 },
  { rate: 9000, seconds: 8 },
  { rate: 11_000, seconds: 8 },
  { rate: 12_500, seconds: 14 },
] as const;
/** Of a phase these seconds are not counted: levels follow the rate within three. */
const SETTLE_S = 3;
const ENDS = PHASES.map((_, at) => PHASES.slice(0, at + 1).reduce((sum, { seconds }) => sum + seconds, 0));
const SECONDS = ENDS.at(-1) ?? 0;
/** The usual thresholds and actions of `docs/surge.md`. */
const DIVERT = { share: 0.1, model: 'light' };
const POLICY: SurgePolicy = {
  levels: [
    { above: 8000, largestN: 1, divert: null, bufferStreams: false },
    { above: 10_000, largestN: 1, divert: DIVERT, bufferStreams: false },
    { above: 12_000, largestN: 1, divert: DIVERT, bufferStreams: true },
  ],
  leaveBelow: 0.85,
  leaveAfterMs: 10_000,
  exemptTiers: new Set(['premium']),
};
const USERS = 2000;
const [STREAMS, CHOOSES, ACCEPTS, PREMIUM, CHOICES] = [0.6, 0.1, 0.3, 0.05, 3];
/** Of the CPU of all workers, at the most. */
const USE = 0.85;
const NONE = 'no levels';

const COLUMNS: readonly Column[] = [
  { key: 'level', title: 'level', digits: 0 },
  { key: 'refused', title: 'refused %', digits: 1 },
  { key: 'reduced', title: 'n cut down %', digits: 1 },
  { key: 'diverted', title: 'light model %', digits: 1 },
  { key: 'buffered', title: 'buffered %', digits: 1 },
  { key: 'users', title: 'users that notice nothing %', digits: 1 },
  { key: 'p50', title: 'admitted p50 ms', digits: 1 },
  { key: 'p99', title: 'admitted p99 ms', digits: 1 },
];

const { inside, transport, measured, machine, chunks } = readServiceTimes();
const CHUNK_US = (inside.stream + transport.stream - inside.whole - transport.whole) / chunks;

/** Milliseconds of CPU of one worker. A stream of n choices has n times as many chunks. */
function costOf({ stream, n }: User, what: Handled['what']): number {
  const streamUs = inside.stream + transport.stream;
  const wholeUs = inside.whole + transport.whole;
  if (what === 'refused') return (inside.refused + transport.whole) / 1000;
  if (what === 'buffered') return (inside.buffered + transport.whole) / 1000;
  const more = what === 'reduced' ? 0 : (n - 1) * chunks * CHUNK_US;
  return (stream ? streamUs + more : wholeUs) / 1000;
}

/** High load, level by level, at the rates of `docs/surge.md`. */
export const highLoad: Scenario = { id: 'high-load', baselines: [], run: (options) => [sheetOf(options)] };

function sheetOf({ ours, seeds, progress }: ScenarioOptions): Sheet {
  const used = seeds.slice(0, 2);
  const users = usersOf(createRandom(77));
  const workers = workersFor(users);
  const play = (policy: SurgePolicy | null, seed: number): readonly Handled[] =>
    playFleet({ policy, workers, users, rateAt, endMs: SECONDS * 1000, costOf, random: createRandom(seed + 40) });
  const ways = [[NONE, null] as const, ...(ours === null ? [] : [[ours.name, POLICY] as const])];
  const lines: Plot['lines'][number][] = [];
  const rows = ways.flatMap(([name, policy]): readonly Row[] => {
    const runs = used.map((seed) => {
      progress(name);
      return play(policy, seed);
    });
    lines.push({ name, points: p99BySecond(runs[0] ?? []) });
    const phases = PHASES.map(({ rate }, phase) => ({
      policy: `${name}, ${rate.toLocaleString('en')}/s`,
      figures: averaged(runs.map((run) => figuresOf(run, (ENDS[phase - 1] ?? 0) + SETTLE_S, ENDS[phase] ?? 0))),
    }));
    const whole = { policy: `${name}, all the time`, figures: averaged(runs.map((run) => figuresOf(run, 0, SECONDS))) };
    return [...phases, whole];
  });
  const gateOf = (phase: number, key: string): number =>
    figureOf(rows, `${ours?.name ?? ''}, ${(PHASES[phase]?.rate ?? 0).toLocaleString('en')}/s`, key);
  return {
    id: 'high-load',
    title: 'High load',
    about: aboutOf(workers),
    columns: COLUMNS,
    rows,
    gates:
      ours === null
        ? []
        : [
            ...[1, 2, 3].map((level) => atLeast(`level ${level} acts`, gateOf(level, 'level'), level, 0)),
            atMost('admitted p99 ms at 12,500/s', gateOf(3, 'p99'), 850, 0),
            atMost('admitted p99 ms all the time', figureOf(rows, `${ours.name}, all the time`, 'p99'), 850, 0),
          ],
    plots: [
      {
        file: 'routing-high-load.svg',
        title: 'High load: p99 of what is admitted, in the gateway',
        x: {
          title: `seconds; ${PHASES.map(({ rate }) => rate.toLocaleString('en')).join(', ')} requests a second`,
          most: SECONDS,
        },
        y: { title: 'seconds', most: 2 },
        lines,
        marked: [
          [ENDS[0] ?? 0, ENDS[1] ?? 0],
          [ENDS[2] ?? 0, SECONDS],
        ],
      },
    ],
  };
}

function aboutOf(workers: number): string {
  return (
    `Requests at the rates of [high load](surge.md), with its usual levels, on ${workers} workers of one CPU each. What a request costs a worker was measured (${measured}, ${machine}; ` +
    `\`node bench/micro/service-times.ts\`): ${inside.whole} µs whole, ${inside.stream} µs as a stream of ${chunks} chunks, ${inside.buffered} µs as a stream that is asked for whole, ` +
    `${inside.refused} µs refused, and ${transport.whole} or, for a stream, ${transport.stream} µs for its transport. ${100 * STREAMS} % of ${USERS.toLocaleString('en')} users stream, ${100 * CHOOSES} % ask for ${CHOICES} choices ` +
    `(${100 * ACCEPTS} % of those take fewer), ${100 * PREMIUM} % are spared. There are as many workers as use ${100 * USE} % of their CPU at the most, by what each level leaves of the load: without levels they are too few for the last rate. ` +
    'Times are from the arrival until the worker has done all its work for the request, its wait for the CPU included; the time of the model is not in it. ' +
    'The first seconds of a rate, in which its level is found, are in the picture and the last rows only.'
  );
}

function usersOf(random: () => number): readonly User[] {
  return Array.from({ length: USERS }, (_, rank) => ({
    name: `user-${rank}`,
    weight: 1 / (rank + 20),
    stream: random() < STREAMS,
    n: random() < CHOOSES ? CHOICES : 1,
    acceptsFewer: random() < ACCEPTS,
    place: random(),
    exempt: random() < PREMIUM,
  }));
}

/** As many as use `USE` of their CPU in the phase that needs most, by what its level leaves of the load. */
function workersFor(users: readonly User[]): number {
  const all = users.reduce((sum, { weight }) => sum + weight, 0);
  const needs = PHASES.map(({ rate }, level) => {
    const ms = users.reduce((sum, user) => sum + (user.weight / all) * costOf(user, whatOf(user, level, POLICY)), 0);
    return (rate * ms) / 1000 / USE;
  });
  return Math.ceil(Math.max(...needs));
}

function rateAt(ms: number): number {
  const phase = ENDS.findIndex((end) => ms < end * 1000);
  return PHASES[phase]?.rate ?? PHASES[PHASES.length - 1]?.rate ?? 0;
}

/** Of the requests that came in these seconds. */
function figuresOf(run: readonly Handled[], from: number, until: number): Readonly<Record<string, number>> {
  const seen = run.filter(({ at }) => at >= from * 1000 && at < until * 1000);
  const share = (what: Handled['what']): number => (100 * seen.filter((one) => one.what === what).length) / seen.length;
  const touched = new Set(seen.filter(({ what }) => what !== 'usual').map(({ user }) => user));
  const all = new Set(seen.map(({ user }) => user));
  const admitted = seen.filter(({ what }) => what !== 'refused').map(({ ms }) => ms);
  return {
    level: percentile(
      seen.map(({ level }) => level),
      0.5,
    ),
    refused: share('refused'),
    reduced: share('reduced'),
    diverted: share('diverted'),
    buffered: share('buffered'),
    users: 100 * (1 - touched.size / all.size),
    p50: percentile(admitted, 0.5),
    p99: percentile(admitted, 0.99),
  };
}

function averaged(runs: readonly Readonly<Record<string, number>>[]): Readonly<Record<string, number>> {
  return Object.fromEntries(COLUMNS.map(({ key }) => [key, mean(runs.map((run) => run[key] ?? NaN))]));
}

function p99BySecond(run: readonly Handled[]): readonly (readonly [number, number])[] {
  const seconds = Array.from({ length: SECONDS }, (): number[] => []);
  for (const { at, ms, what } of run) if (what !== 'refused') seconds[Math.floor(at / 1000)]?.push(ms / 1000);
  return seconds.map((times, second) => [second + 1, percentile(times, 0.99)]);
}
