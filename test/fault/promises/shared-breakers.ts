import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../../src/app/wait-until.ts';
import { type FaultyBackend, startFaultyBackend } from '../rig/faulty-backend.ts';
import { startLoad } from '../rig/load.ts';
import { type Rig, startRig } from '../rig/rig.ts';
import { atMost, exactly, told, type Verdict, verdict } from '../rig/verdict.ts';
import { describe } from './kill-server.ts';
import { between, gone, picksOf, shareOf, SPELL } from './shift-picks.ts';

const SERVERS = 3;
const BACKENDS = 4;
const MODEL = 'shared';
/** Within what time all agree. */
const AGREE_MS = 2000;
const AWAY_MS = 5000;
const PER_SECOND = 40;
/** `tokenlat_breaker_state` of a breaker that is open for probes; above: wholly. */
const OPEN = 2;

/** Replicas agree on open breakers through Redis, one that starts learns of them, and without Redis each goes by its own. */
export async function sharesBreakers(): Promise<readonly Verdict[]> {
  const backends = await Promise.all(Array.from({ length: BACKENDS }, () => startFaultyBackend()));
  try {
    const rig = await startRig({ servers: SERVERS, config: configOf(backends) });
    try {
      return [await agree(rig, backends), await learn(rig), await goOn(rig, backends)];
    } finally {
      await rig.stop();
    }
  } finally {
    await Promise.all(backends.map((backend) => backend.shut()));
  }
}

function configOf(backends: readonly FaultyBackend[]): Readonly<Record<string, unknown>> {
  return {
    ledger: { lease: '3s', on_crash: 'charge', on_store_error: 'allow' },
    backends: backends.map(({ port }, at) => ({
      name: `b${at}`,
      dialect: 'openai',
      endpoints: [{ url: `http://127.0.0.1:${port}/v1` }],
    })),
    models: [
      {
        name: MODEL,
        deployments: backends.map((_, at) => ({
          backend: `b${at}`,
          model: 'm',
          weight: 1,
          price: { prompt_per_mtok: 1, completion_per_mtok: 2 },
        })),
      },
    ],
  };
}

/** How many servers say that the breaker of the first backend is open. */
async function open(rig: Rig): Promise<number> {
  const name = `tokenlat_breaker_state{deployment="${MODEL}@b0",kind="chat"}`;
  const states = await Promise.all(rig.servers.map((_, server) => rig.metric(name, server).catch(() => 0)));
  return states.filter((state) => state >= OPEN).length;
}

/** Nothing more is asked once the first one has seen enough: what the others know they know from it. */
async function agree(rig: Rig, [victim]: readonly FaultyBackend[]): Promise<Verdict> {
  if (victim !== undefined) victim.conduct = 'error';
  let asked = 0;
  while ((await open(rig)) === 0 && asked < 2000) {
    await Promise.all(
      Array.from({ length: 5 }, (_, at) => rig.client.send({ id: `agree-${asked + at}`, model: MODEL })),
    );
    asked += 5;
  }
  const from = performance.now();
  const first = await open(rig);
  const all = await waitUntil(async () => (await open(rig)) === SERVERS, { timeoutMs: 10_000, everyMs: 50 });
  return verdict('replicas agree on an open breaker', [
    told('requests until the first opened it', asked),
    told('open at first', first),
    atMost('all have it open after', all ? performance.now() - from : Infinity, AGREE_MS, ' ms'),
  ]);
}

async function learn(rig: Rig): Promise<Verdict> {
  const newest = rig.servers.at(-1);
  await newest?.kill();
  await newest?.start();
  const from = performance.now();
  const all = await waitUntil(async () => (await open(rig)) === SERVERS, { timeoutMs: 10_000, everyMs: 50 });
  const learned = performance.now() - from;
  // What it learned it keeps, though it has sent nothing there yet.
  await sleep(1500);
  return verdict('a replica that starts learns of open breakers', [
    atMost('after it was ready', all ? learned : Infinity, AGREE_MS, ' ms'),
    exactly('have it open a moment later', await open(rig), SERVERS),
  ]);
}

async function goOn(rig: Rig, [first, second]: readonly FaultyBackend[]): Promise<Verdict> {
  if (first !== undefined) first.conduct = 'answer';
  const load = startLoad({
    client: rig.client,
    perSecond: PER_SECOND,
    name: 'alone',
    order: (index) => ({ model: MODEL, stream: index % 2 === 0, tokens: 10 }),
  });
  await sleep(2000);
  await rig.redis.kill();
  await sleep(2000);
  const from = performance.now();
  if (second !== undefined) second.conduct = 'error';
  const left = () => gone(between(picksOf(load.shots, 'b1'), from, load.endedUntil()), { from, fair: 1 / BACKENDS });
  await waitUntil(() => left() !== null, { timeoutMs: AWAY_MS + (2 * 1000 * SPELL) / PER_SECOND, everyMs: 200 });
  const shots = await load.stop();
  await rig.redis.restart();
  const failed = shots.filter(({ complete }) => !complete);
  const [one] = failed;
  const picks = picksOf(shots, 'b1');
  return verdict('without Redis each replica goes by its own figures', [
    told('requests', shots.length),
    exactly('errors', failed.length, 0),
    ...(one === undefined ? [] : [told('such as', describe(one))]),
    told('share of it before %', 100 * shareOf(picks, 0, from)),
    atMost('gone after', left()?.after ?? Infinity, AWAY_MS, ' ms'),
  ]);
}
