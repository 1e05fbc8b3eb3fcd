import { setTimeout as sleep } from 'node:timers/promises';
import { type FaultyBackend, startFaultyBackend } from '../rig/faulty-backend.ts';
import { waitUntil } from '../../../src/app/wait-until.ts';
import { wilson } from '../../../src/lib/statistics/wilson.ts';
import { type Load, type Shot, startLoad } from '../rig/load.ts';
import { type Rig, startRig } from '../rig/rig.ts';
import { atMost, exactly, type Figure, told, type Verdict, verdict } from '../rig/verdict.ts';
import { describe } from './kill-server.ts';
import { type Fault, FAULTS } from './shift-faults.ts';
import { back, between, gone, picksOf, type Picks, shareOf, SPELL } from './shift-picks.ts';

export interface ShiftOptions {
  /** Of each of the three ways to choose. */
  readonly perSecond: number;
  /** How long all is well before, and how long a fault that comes and goes does. */
  readonly wellMs: number;
  readonly flapsMs: number;
  /** How long its share is watched from when it is gone; only then the fault ends. */
  readonly restMs: number;
  /** How long its return is watched, and within what time it must be there; null = not at all. */
  readonly return: { readonly watchMs: number; readonly mostMs: number } | null;
  /** Names of faults; all by default. */
  readonly only?: readonly string[];
  readonly say?: (line: string) => void;
}

const BACKENDS = 4;
/** Its share of all requests while it is ill, percent: what looks and a least health cost. */
const MOST_LEFT = 5;
/** The same of one that is ill half of the time: well below a fair share. */
const MOST_FLAPPING = 15;
/** So many standard deviations are not chance: one in a hundred million, of the samples that are taken here. */
const DOUBT = 7;
/** How the deployments of a model are chosen from. */
const WAYS = ['load', 'equal', 'score'] as const;
type Way = (typeof WAYS)[number];

/** Traffic moves away from a backend with a fault and comes back when it is over, however it is shared. */
export async function shiftsTraffic(options: ShiftOptions): Promise<readonly Verdict[]> {
  const { only, say = () => {} } = options;
  const faults = FAULTS.filter(({ name }) => only === undefined || only.includes(name));
  const backends = new Map<string, readonly FaultyBackend[]>();
  try {
    // Each fault has deployments of its own: nothing is known of them yet when it begins.
    for (const { name } of faults)
      backends.set(name, await Promise.all(Array.from({ length: BACKENDS }, () => startFaultyBackend())));
    const rig = await startRig({ workers: 2, config: configOf(backends) });
    try {
      const verdicts: Verdict[] = [];
      for (const fault of faults) {
        say(fault.name);
        verdicts.push(...(await runFault(rig, fault, backends.get(fault.name) ?? [], options)));
      }
      return verdicts;
    } finally {
      await rig.stop();
    }
  } finally {
    await Promise.all([...backends.values()].flat().map((backend) => backend.shut()));
  }
}

const modelOf = (fault: string, way: Way): string => `${fault}-${way}`;
const backendOf = (fault: string, at: number): string => `${fault}-${at}`;

function configOf(backends: ReadonlyMap<string, readonly FaultyBackend[]>): Readonly<Record<string, unknown>> {
  const faults = [...backends];
  const modelsOf = (fault: string, count: number) =>
    WAYS.map((way) => ({
      name: modelOf(fault, way),
      ...(way === 'load' ? { balance: 'load' } : {}),
      deployments: Array.from({ length: count }, (_, at) => ({
        backend: backendOf(fault, at),
        model: 'm',
        weight: 1,
        price: { prompt_per_mtok: 1, completion_per_mtok: 2 },
      })),
    }));
  return {
    // Silence must be told apart from slowness within the time of a test.
    timeouts: { request: '10s', idle: '1s' },
    ledger: { lease: '30s', on_crash: 'charge', on_store_error: 'allow' },
    backends: faults.flatMap(([fault, all]) =>
      all.map(({ port }, at) => ({
        name: backendOf(fault, at),
        dialect: 'openai',
        endpoints: [{ url: `http://127.0.0.1:${port}/v1` }],
      })),
    ),
    models: faults.flatMap(([fault, { length }]) => modelsOf(fault, length)),
    routes: faults.map(([fault]) => ({
      name: `${fault}-scored`,
      models: [modelOf(fault, 'score')],
      candidates: [{ model: modelOf(fault, 'score') }],
      weights: { latency: 1 },
    })),
  };
}

async function runFault(
  rig: Rig,
  fault: Fault,
  backends: readonly FaultyBackend[],
  { perSecond, wellMs, flapsMs, restMs, return: returns }: ShiftOptions,
): Promise<readonly Verdict[]> {
  const [victim] = backends;
  if (victim === undefined) throw new Error('no backend');
  const load = startLoad({
    client: rig.client,
    perSecond: perSecond * WAYS.length,
    name: fault.name,
    order: (index) => ({
      model: modelOf(fault.name, WAYS[index % WAYS.length] ?? 'load'),
      stream: Math.floor(index / WAYS.length) % 2 === 0,
      tokens: 10,
    }),
  });
  await sleep(wellMs);
  const from = performance.now();
  const end = await fault.begin(victim);
  if (fault.mostMs === null) await sleep(flapsMs);
  else await untilWatched(load, fault, { from, mostMs: fault.mostMs, restMs });
  await end();
  const to = performance.now();
  if (returns !== null) await sleep(returns.watchMs);
  const shots = await load.stop();
  return WAYS.map((way) => judge({ fault, way, shots: shotsOf(shots, way), from, to, returns }));
}

function shotsOf(shots: readonly Shot[], way: Way): readonly Shot[] {
  return shots.filter(({ id }) => WAYS[Number(id.split('-').at(-1)) % WAYS.length] === way);
}

/** The fault goes on until its share was gone for long enough in each of the ways, or is not in time. */
async function untilWatched(
  load: Load,
  fault: Fault,
  { from, mostMs, restMs }: { readonly from: number; readonly mostMs: number; readonly restMs: number },
): Promise<void> {
  const isOver = (): boolean => {
    // Those that went to the slow one end last: what was sent later is not judged before.
    const known = load.endedUntil();
    return WAYS.every((way) => {
      const picks = between(picksOf(shotsOf(load.shots, way), backendOf(fault.name, 0)), from, known);
      const away = gone(picks, { from, fair: 1 / BACKENDS });
      return away === null ? (picks.at(-SPELL)?.at ?? from) > from + mostMs : known - from >= away.until + restMs;
    });
  };
  await waitUntil(isOver, { timeoutMs: 2 * mostMs + restMs, everyMs: 200 });
}

interface Course {
  readonly fault: Fault;
  readonly way: Way;
  readonly shots: readonly Shot[];
  readonly from: number;
  readonly to: number;
  readonly returns: ShiftOptions['return'];
}

function judge({ fault, way, shots, from, to, returns }: Course): Verdict {
  const picks = picksOf(shots, backendOf(fault.name, 0));
  const bad = shots.filter(({ complete }) => !complete);
  const outside = bad.filter(({ startedAt, ms }) => startedAt + ms < from || startedAt > to);
  return verdict(`traffic leaves ${fault.name} (${way})`, [
    told('requests', shots.length),
    told('share before %', 100 * shareOf(picks, from - 1500, from)),
    ...leaving(fault, between(picks, from, to), from),
    ...errorsOf(fault, bad),
    exactly('errors outside the fault', outside.length, 0),
    exactly('moved without a reason', shots.filter(lacksReason).length, 0),
    told('answers instead of the usual', fallbacksOf(shots)),
    ...(returns === null ? [] : [returning(picks, to, returns)]),
  ]);
}

/** @param picks - Of the fault alone. */
function leaving(fault: Fault, picks: Picks, from: number): readonly Figure[] {
  const away = gone(picks, { from, fair: 1 / BACKENDS });
  if (fault.mostMs === null)
    return [
      atMost('share during it %', 100 * shareOf(picks, from, Infinity), MOST_FLAPPING),
      told('gone after ms', away?.after ?? 'never'),
    ];
  return [atMost('gone after', away?.after ?? Infinity, fault.mostMs, ' ms'), ...restOf(picks.slice(away?.end ?? 0))];
}

/** Breaks the promise where chance does not explain why it is more than promised. */
function restOf(picks: Picks): readonly Figure[] {
  const there = picks.filter(({ isThere }) => isThere).length;
  return [
    told('share from then on %', (100 * there) / Math.max(1, picks.length)),
    atMost(`of ${picks.length}, so at least %`, 100 * wilson(there, picks.length, DOUBT).low, MOST_LEFT),
  ];
}

function returning(picks: Picks, to: number, { mostMs }: { readonly mostMs: number }): Figure {
  return atMost('half of its share again after', back(picks, to, 0.5 / BACKENDS) ?? Infinity, mostMs, ' ms');
}

function errorsOf(fault: Fault, bad: readonly Shot[]): readonly Figure[] {
  // With status 200 its client has seen the begin of the answer.
  const spared = bad.filter(
    ({ stream, status }) => status !== 200 && (stream ? fault.spares.streams : fault.spares.whole),
  );
  const [one] = spared;
  return [
    exactly('errors that another backend could have spared', spared.length, 0),
    ...(one === undefined ? [] : [told('such as', describe(one))]),
    told('errors in begun answers', bad.length - spared.length),
  ];
}

/** Every answer of a model says why who served did. */
function lacksReason({ headers, status }: Shot): boolean {
  return status === 200 && headers['x-route-reason'] === undefined;
}

function fallbacksOf(shots: readonly Shot[]): string {
  const counts = new Map<string, number>();
  for (const { headers } of shots) {
    const reason = headers['x-fallback-reason'];
    if (typeof reason === 'string') counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return counts.size === 0 ? 'none' : [...counts].map(([reason, count]) => `${reason} ${count}`).join(' ');
}
