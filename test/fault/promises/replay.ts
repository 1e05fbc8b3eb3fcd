import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../../src/app/wait-until.ts';
import type { LedgerEvent } from '../../../src/core/ledger-event.ts';
import type { Order, Shot } from '../rig/load.ts';
import { type Death, DEATHS, type MortalBackend, startMortalBackend } from '../rig/mortal-backend.ts';
import { type Rig, startRig, untilSettled } from '../rig/rig.ts';
import { atMost, exactly, type Figure, told, type Verdict, verdict } from '../rig/verdict.ts';
import { describe } from './kill-server.ts';

export interface ReplayOptions {
  /** The configuration's `timeouts`; none for its defaults. */
  readonly timeouts?: Readonly<Record<string, string>>;
  /** From the death to the last answer of another backend, milliseconds. */
  readonly mostMs: number;
  /** Requests of each kind that are open when their backend dies. */
  readonly each: number;
  /** How long requests still come for the dead, and how many a second for each way to die. */
  readonly after: { readonly ms: number; readonly perSecond: number };
  readonly say?: (line: string) => void;
}

/** Where a request is when its backend dies; `begun`: its client may have seen a part. */
const STATES = ['silent', 'head', 'begun', 'unread'] as const;
type State = (typeof STATES)[number];

/** Backends that die together: two for each plan, and one that is an endpoint beside a living one. */
interface Mortals {
  readonly death: Death;
  readonly first: MortalBackend;
  readonly second: MortalBackend;
  readonly endpoint: MortalBackend;
}

/** More than a socket holds. */
const UNREAD = 'x '.repeat(1_500_000);
const PRICE = { prompt_per_mtok: 1, completion_per_mtok: 2 };
const QUICK = { tokens: 1 };

/**
 * Backends die in three ways with requests open in all states. What was not answered is replayed elsewhere, where the rule
 * allows it and the client has seen nothing; the rest gets a clear error; nothing is lost or served twice; each request is
 * one event of its tenant, and what was thrown away is the gateway's cost.
 */
export async function replaysElsewhere(options: ReplayOptions): Promise<readonly Verdict[]> {
  const mortals = await Promise.all(DEATHS.map(startMortals));
  const all = mortals.flatMap(({ first, second, endpoint }) => [first, second, endpoint]);
  try {
    const rig = await startRig({ config: (spare) => configOf(mortals, spare, options) });
    try {
      return (await Promise.all(mortals.map((each) => runDeath(rig, each, options)))).flat();
    } finally {
      await rig.stop();
    }
  } finally {
    for (const each of all) each.close();
  }
}

async function startMortals(death: Death): Promise<Mortals> {
  const [first, second, endpoint] = await Promise.all([
    startMortalBackend(),
    startMortalBackend(),
    startMortalBackend(),
  ]);
  return { death, first, second, endpoint };
}

function configOf(
  mortals: readonly Mortals[],
  spare: number,
  { timeouts }: ReplayOptions,
): Readonly<Record<string, unknown>> {
  const urlOf = (port: number) => ({ url: `http://127.0.0.1:${port}/v1` });
  const backend = (name: string, ...ports: readonly number[]) => ({ name, endpoints: ports.map(urlOf) });
  const model = (name: string, ...backends: readonly string[]) => ({
    name,
    deployments: backends.map((each) => ({
      backend: each,
      model: 'm',
      price: PRICE,
      profile: { context: 100_000_000 },
    })),
  });
  return {
    ...(timeouts === undefined ? {} : { timeouts }),
    limits: { body: '16MiB' },
    // Whoever is dead is asked all the same: what is judged is what becomes of such requests.
    breakers: { enabled: false },
    backends: [
      backend('spare', spare),
      ...mortals.flatMap(({ death, first, second, endpoint }) => [
        backend(`${death}-1`, first.port),
        backend(`${death}-2`, second.port),
        backend(`${death}-pool`, endpoint.port, spare),
      ]),
    ],
    models: mortals.flatMap(({ death }) => [
      // A hung process answers its kernel's questions: only silence tells, for one after the other.
      model(death, ...(death === 'hang' ? [`${death}-1`, 'spare'] : [`${death}-1`, `${death}-2`, 'spare'])),
      model(`${death}-kept`, `${death}-1`, 'spare'),
      model(`${death}-pool`, `${death}-pool`),
    ]),
    routes: mortals.map(({ death }) => ({
      name: `${death}-kept`,
      models: [`${death}-kept`],
      replay: "request.type != 'chat'",
    })),
  };
}

async function runDeath(rig: Rig, mortals: Mortals, options: ReplayOptions): Promise<readonly Verdict[]> {
  const { death, first, second, endpoint } = mortals;
  const { each, after, say = () => {} } = options;
  // Connections that stand when their backends die.
  const early = await many(rig, death, `${death}-early`, each * 4);
  const open = [
    ...STATES.flatMap((state) => ofState(rig, death, state, each)),
    ...ofState(rig, `${death}-kept`, 'silent', each, 'kept'),
    ...ofState(rig, `${death}-pool`, 'silent', 2 * each, 'pool'),
  ];
  // Of a pool each endpoint gets its part.
  const wanted = each * 9;
  await waitUntil(async () => first.held.size >= wanted && endpoint.held.size > 0, { timeoutMs: 20_000, everyMs: 20 });
  // What has begun only now, and on a new connection, may pass for never sent.
  await sleep(300);
  const held = new Set([...first.held, ...endpoint.held]);
  const died = performance.now();
  await Promise.all([first, second, endpoint].map((one) => one.die(death)));
  say(`${death}: ${held.size} requests held`);
  const late = comeAfter(rig, death, after);
  const shots = await Promise.all(open);
  const lateShots = await late;
  await untilSettled(rig, 5000);
  const events = await rig.ledger();
  return [
    judge({ rig, death, shots: shots.filter(({ id }) => held.has(id)), events, died, mostMs: options.mostMs }),
    verdict(`${death}: who comes later is served`, [
      told('requests', lateShots.length),
      ...complete([...early, ...lateShots, ...shots.filter(({ id }) => !held.has(id))]),
      told('slowest ms', Math.max(0, ...lateShots.map(({ ms }) => ms))),
    ]),
  ];
}

/** Streams and whole answers in one state; a body that nobody reads is of either. */
function ofState(rig: Rig, model: string, state: State, each: number, name: string = state): readonly Promise<Shot>[] {
  return [true, false].flatMap((stream) => {
    if (state === 'unread' && stream) return [];
    return Array.from({ length: each }, (_, at) =>
      send(rig, {
        id: `${model}-${name}-${state}-${stream ? 'stream' : 'whole'}-${at}`,
        model,
        stream,
        ...QUICK,
        ...(state === 'unread' ? { padding: UNREAD } : {}),
      }),
    );
  });
}

const send = (rig: Rig, order: Order): Promise<Shot> => rig.client.send(order);

function many(rig: Rig, model: string, name: string, count: number): Promise<readonly Shot[]> {
  return Promise.all(Array.from({ length: count }, (_, at) => send(rig, { id: `${name}-${at}`, model, ...QUICK })));
}

async function comeAfter(rig: Rig, death: Death, { ms, perSecond }: ReplayOptions['after']): Promise<readonly Shot[]> {
  const shots: Promise<Shot>[] = [];
  const began = performance.now();
  while (performance.now() - began < ms) {
    const at = shots.length;
    shots.push(send(rig, { id: `${death}-late-${at}`, model: death, stream: at % 2 === 0, ...QUICK }));
    await sleep(1000 / perSecond);
  }
  return Promise.all(shots);
}

interface Course {
  readonly rig: Rig;
  readonly death: Death;
  readonly shots: readonly Shot[];
  readonly events: readonly LedgerEvent[];
  readonly died: number;
  readonly mostMs: number;
}

/** May nobody else be asked: the client may have seen a part, or the rule forbids it? */
const isKept = ({ id }: Shot): boolean => id.includes('-begun-') || id.includes('-kept-');

function judge({ rig, death, shots, events, died, mostMs }: Course): Verdict {
  const kept = shots.filter(isKept);
  const free = shots.filter((shot) => !isKept(shot));
  const served = ({ id }: Shot): number => rig.upstream.served.get(id)?.calls ?? 0;
  const unclear = kept.filter((shot) => shot.complete || !isClear(shot));
  const [odd] = unclear;
  return verdict(`${death}: unanswered requests are replayed once`, [
    told('open', shots.length),
    ...complete(free),
    exactly('served twice', shots.filter((shot) => served(shot) > 1).length, 0),
    exactly('replayed against the rule', kept.filter((shot) => served(shot) > 0).length, 0),
    exactly('without answer or clear error', unclear.length, 0),
    ...(odd === undefined ? [] : [told('such as', describe(odd))]),
    atMost('last replay after', Math.max(...free.map(({ startedAt, ms }) => startedAt + ms)) - died, mostMs, ' ms'),
    atMost('most tries', Math.max(...free.map(triesOf)), 3),
    ...booksOf(shots, events),
  ]);
}

const triesOf = ({ headers }: Shot): number => Number(headers['x-tokenlat-attempts'] ?? 1);

function complete(shots: readonly Shot[]): readonly Figure[] {
  const lost = shots.filter((shot) => !shot.complete);
  const [one] = lost;
  return [exactly('lost', lost.length, 0), ...(one === undefined ? [] : [told('such as', describe(one))])];
}

/** An error with a code, in the body or in the stream; or a transfer that visibly breaks. */
function isClear({ status, code, body }: Shot): boolean {
  if (status === 200) return body.includes('"error"') || !body.includes('[DONE]');
  return code !== null && [502, 503, 504].includes(status);
}

/** One event of the tenant for each, and one of the gateway for each try that was thrown away, with its price where it was taken. */
function booksOf(shots: readonly Shot[], events: readonly LedgerEvent[]): readonly Figure[] {
  const own = new Map<string, LedgerEvent[]>();
  for (const event of events) own.set(event.requestId, [...(own.get(event.requestId) ?? []), event]);
  const of = ({ id }: Shot, chargedTo: LedgerEvent['chargedTo']): readonly LedgerEvent[] =>
    (own.get(id) ?? []).filter((event) => event.chargedTo === chargedTo);
  const replayed = shots.filter((shot) => shot.complete);
  const unpaid = replayed.filter((shot) => !of(shot, 'gateway').some(isPaid));
  const [one] = unpaid;
  // Its last try was taken, and nobody else may be asked.
  const silent = shots.filter(({ id }) => id.includes('-kept-'));
  const loose = silent.filter((shot) => of(shot, 'gateway').filter(isPaid).length !== triesOf(shot));
  const [other] = loose;
  return [
    exactly("not one event of the tenant's", shots.filter((shot) => of(shot, 'tenant').length !== 1).length, 0),
    exactly(
      'thrown-away tries without an event',
      replayed.filter((shot) => of(shot, 'gateway').length !== triesAway(shot)).length,
      0,
    ),
    exactly('taken and not paid for', unpaid.length, 0),
    ...(one === undefined ? [] : [told('such as', `${one.id} ${JSON.stringify(of(one, 'gateway'))}`)]),
    exactly('failed, and taken without being paid for once', loose.length, 0),
    ...(other === undefined ? [] : [told('such as', `${other.id} ${JSON.stringify(own.get(other.id))}`)]),
  ];
}

/** Tries within one backend count likewise. */
const triesAway = (shot: Shot): number => triesOf(shot) - 1;

const isPaid = ({ cost, estimated, usageFlag }: LedgerEvent): boolean =>
  cost > 0 && estimated && usageFlag === 'unanswered';
