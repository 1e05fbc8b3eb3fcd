import { changesOf, type FaultKind } from '../engine/condition.ts';
import { mean, median, percentile, sharesOf, totals, type Shares } from '../engine/figures.ts';
import type { PolicySpec } from '../engine/policy.ts';
import { createRandom } from '../engine/random.ts';
import { simulate, type Run } from '../engine/simulate.ts';
import { drawRequests, readTrace } from '../engine/traces.ts';
import { completionAverage } from '../policies/completion-average.ts';
import { leastInFlight, twoChoices } from '../policies/least-weighted.ts';
import { polled } from '../policies/polled.ts';
import { atMost, figureOf, type Column, type Gate, type Line, type Row, type Sheet } from '../report/sheet.ts';
import { HOST, type Scenario, type ScenarioOptions } from './scenario.ts';

const HOSTS = 4;
const FAIR = 1 / HOSTS;
/** Requests a second: half of what each host has in the scenario of equal hosts, so that three can carry all. */
const RATE = 4.7;
const SECONDS = 1500;
const FAULT_SECONDS = 300;
const FAULTS_AT = [200, 850];
/** Shares are looked at over so many seconds, each second anew. */
const WINDOW = 10;
/** Longer, so that chance in a handful of requests is no turn. */
const FLAP_WINDOW = 20;
/** Seconds after a fault that are looked at. */
const AFTERWARDS = 150;
const AWAY = 0.1;
/** The second of a fault from which its share is shown where no gate says otherwise. */
const SOON = 5;
/** "Back" is four fifths of a fair share. */
const BACK = 0.8 * FAIR;
/** What chance may change, and what probes of a host that is ill may cost where others lose nothing. */
const TOLERANCE = 1.05;
/** A router that learns sends few requests where they fail. */
const MOST_TRIES = 1.1;
const PATIENCE_MS = 30_000;
const BASELINES: readonly PolicySpec[] = [polled(1000), leastInFlight, twoChoices, completionAverage];

const columnsOf = ({ awayFrom }: Setting): readonly Column[] => [
  { key: 'awayMedian', title: 'below 10 % after s, median', digits: 0 },
  { key: 'awayMax', title: 'max', digits: 0 },
  { key: 'share', title: `share from second ${awayFrom ?? SOON} on, max`, digits: 3 },
  { key: 'crowd', title: 'share of another host, max', digits: 2 },
  { key: 'flaps', title: 'flaps', digits: 0 },
  { key: 'backMax', title: 'back after s, max', digits: 0 },
  { key: 'shareAfter', title: 'share 15–60 s after', digits: 3 },
  { key: 'total99', title: 'whole answer p99 s in the fault', digits: 0 },
  { key: 'tries', title: 'tries a request in the fault', digits: 2 },
  { key: 'failed', title: 'failed %', digits: 2 },
];

interface Setting {
  readonly kind: FaultKind;
  readonly title: string;
  readonly about: string;
  /** The second of the fault from which the share must stay below 10 %; null where it need not. */
  readonly awayFrom: number | null;
  /** Failed requests that no router could have saved, in percent: those that had begun to answer. */
  readonly mayFail: number;
}

const SETTINGS: readonly Setting[] = [
  {
    kind: 'slow-at-start',
    title: 'ten times slower for what begins in the fault',
    about:
      'What begins in the fault is ten times slower to its end; what ran before goes on as it was. The count of requests in flight tells this late.',
    awayFrom: 5,
    mayFail: 0,
  },
  {
    kind: 'slow',
    title: 'ten times slower',
    about: 'Everything on the host is ten times slower at once, and as fast as before at once.',
    awayFrom: 5,
    mayFail: 0,
  },
  {
    kind: 'errors',
    title: 'errors',
    about: 'Every new request fails within 5 ms with a 5xx.',
    awayFrom: 5,
    mayFail: 0,
  },
  {
    kind: 'hang',
    title: 'no bytes',
    about:
      'Requests are taken in and nothing comes back. The proxy gives up after 30 s and tries another host; streams that had begun are lost.',
    awayFrom: 5,
    mayFail: 2,
  },
  {
    kind: 'slow-tokens',
    title: 'slow tokens',
    about: 'First tokens come as usual, further ones ten times slower.',
    awayFrom: 15,
    mayFail: 0,
  },
  {
    kind: 'slow-ramp',
    title: 'slower and slower',
    about: 'From full speed to ten times slower over 150 s, then so for 150 s.',
    awayFrom: 120,
    mayFail: 0,
  },
  {
    kind: 'rejects',
    title: '429',
    about:
      'With four requests in the host, every further one gets a 429 with Retry-After: 1. A share of about 10 % is what it can do.',
    awayFrom: null,
    mayFail: 0,
  },
  {
    kind: 'flapping',
    title: 'in and out',
    about: 'Ten times slower for 20 s, well for 20 s, and so on.',
    awayFrom: null,
    mayFail: 0,
  },
];

/** T3: one host of four is ill for a while. */
export const sickHost: Scenario = {
  id: 'sick-host',
  baselines: BASELINES,
  run: (options) => SETTINGS.map((setting) => sheetOf(setting, options)),
};

interface Fault {
  readonly host: number;
  /** Seconds. */
  readonly from: number;
  readonly to: number;
}

function faultsOf(seed: number): readonly Fault[] {
  const random = createRandom(seed * 7919);
  const first = Math.floor(random() * HOSTS);
  return FAULTS_AT.map((at, index) => {
    const from = at + Math.floor(random() * 30);
    return { host: (first + index) % HOSTS, from, to: from + FAULT_SECONDS + Math.floor(random() * 30) };
  });
}

interface Course {
  readonly away: number;
  readonly share: number;
  readonly crowd: number;
  readonly flaps: number;
  readonly back: number;
  readonly shareAfter: number;
  readonly total99: number;
  readonly tries: number;
}

function sheetOf(setting: Setting, { ours, seeds, progress }: ScenarioOptions): Sheet {
  const from = readTrace('azure-llm-2023', { faster: 1 });
  const policies = ours === null ? BASELINES : [...BASELINES, ours];
  const lines: Line[] = [];
  const rows = policies.map((spec): Row => {
    const courses: Course[] = [];
    let failed = 0;
    let all = 0;
    for (const seed of seeds) {
      const faults = faultsOf(seed);
      const requests = drawRequests(from, { rate: RATE, seconds: SECONDS, random: createRandom(seed) });
      const changes = faults.flatMap(({ host, from, to }) =>
        changesOf(setting.kind, { host, from: from * 1000, to: to * 1000 }),
      );
      const speeds = Array.from({ length: HOSTS }, () => 1);
      const run = simulate(
        { model: HOST, speeds, requests, changes: changes.toSorted(byTime), tries: 3, patienceMs: PATIENCE_MS, seed },
        spec,
      );
      courses.push(...faults.map((fault) => courseOf(run, fault, setting)));
      failed += run.answers.filter(({ outcome }) => outcome !== 'ok').length;
      all += run.answers.length;
      if (seed === seeds[0]) lines.push(...faults.slice(0, 1).map((fault) => lineOf(spec.name, run, fault)));
      progress(spec.name);
    }
    return { policy: spec.name, figures: figuresOf(courses, (100 * failed) / all) };
  });
  return {
    id: `sick-host-${setting.kind}`,
    title: `One of four hosts: ${setting.title}`,
    about: setting.about,
    columns: columnsOf(setting),
    rows,
    gates: ours === null ? [] : gatesOf(setting, rows, ours.name),
    plots: [
      {
        file: `routing-sick-host-${setting.kind}.svg`,
        title: `${setting.title}: share of the host that is ill`,
        x: { title: 'seconds; the fault is marked', most: 500 },
        y: { title: 'share', most: 0.5 },
        lines,
        marked: [[BEFORE, BEFORE + FAULT_SECONDS]],
      },
    ],
  };
}

const byTime = (left: { readonly at: number }, right: { readonly at: number }): number => left.at - right.at;

/** Seconds before the fault that a plot shows. */
const BEFORE = 50;

function lineOf(name: string, { picks }: Run, { host, from }: Fault): Line {
  const shares = sharesOf(picks, host);
  const points: [number, number][] = [];
  for (let at = 0; at <= 500; at += 2) {
    const end = from - BEFORE + at;
    points.push([at, shares.between(end - WINDOW, end)]);
  }
  return { name, points };
}

function courseOf(run: Run, fault: Fault, { awayFrom }: Setting): Course {
  const { host, from, to } = fault;
  const shares = sharesOf(run.picks, host);
  const others = Array.from({ length: HOSTS }, (_, other) => other).filter((other) => other !== host);
  const windows = (of: Shares, first: number, last: number, length = WINDOW): readonly number[] =>
    Array.from({ length: Math.max(0, last - first - length + 1) }, (_, at) =>
      of.between(first + at, first + at + length),
    );
  const inFault = windows(shares, from, to);
  const afterwards = windows(shares, to, to + AFTERWARDS);
  const firstAway = inFault.findIndex((share) => share < AWAY);
  const firstBack = afterwards.findIndex((share) => share >= BACK);
  const answers = run.answers.filter(({ request }) => request.at >= from * 1000 && request.at < to * 1000);
  return {
    away: firstAway === -1 ? FAULT_SECONDS : firstAway,
    share: Math.max(...windows(shares, from + (awayFrom ?? SOON), to)),
    crowd: Math.max(...others.flatMap((other) => windows(sharesOf(run.picks, other), from + WINDOW, to))),
    flaps: flapsIn(windows(shares, from, to + AFTERWARDS, FLAP_WINDOW)),
    back: firstBack === -1 ? AFTERWARDS : firstBack,
    shareAfter: shares.between(to + 15, to + 60),
    total99: percentile(totals(answers), 0.99),
    tries: mean(answers.map(({ tries }) => tries)),
  };
}

/** How often the traffic came back and left again, beyond leaving once and coming back once. */
function flapsIn(shares: readonly number[]): number {
  let isAway = false;
  let turns = 0;
  for (const share of shares) {
    if (isAway ? share < BACK : share >= AWAY) continue;
    isAway = !isAway;
    turns += 1;
  }
  return Math.max(0, Math.ceil((turns - 2) / 2));
}

function figuresOf(courses: readonly Course[], failed: number): Readonly<Record<string, number>> {
  const most = (figure: (course: Course) => number): number => Math.max(...courses.map(figure));
  return {
    awayMedian: median(courses.map(({ away }) => away)),
    awayMax: most(({ away }) => away),
    share: most(({ share }) => share),
    crowd: most(({ crowd }) => crowd),
    flaps: courses.reduce((sum, { flaps }) => sum + flaps, 0),
    backMax: most(({ back }) => back),
    shareAfter: mean(courses.map(({ shareAfter }) => shareAfter)),
    total99: mean(courses.map(({ total99 }) => total99)),
    tries: mean(courses.map(({ tries }) => tries)),
    failed,
  };
}

function gatesOf({ awayFrom, mayFail, kind }: Setting, rows: readonly Row[], ours: string): readonly Gate[] {
  const own = (key: string): number => figureOf(rows, ours, key);
  const isSteady = kind !== 'flapping' && kind !== 'rejects';
  return [
    ...(awayFrom === null ? [] : [atMost(`share from second ${awayFrom} on`, own('share'), AWAY, 3)]),
    ...(isSteady ? [atMost('flaps', own('flaps'), 0, 0)] : []),
    atMost('back at 80 % of a fair share after s', own('backMax'), 60, 0),
    atMost('tries a request in the fault', own('tries'), MOST_TRIES),
    atMost('failed %', own('failed'), mayFail),
    atMost(
      `whole answer p99 s in the fault, ${TOLERANCE} × ${leastInFlight.name}`,
      own('total99'),
      figureOf(rows, leastInFlight.name, 'total99') * TOLERANCE,
      1,
    ),
  ];
}
