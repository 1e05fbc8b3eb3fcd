import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../../src/app/wait-until.ts';
import { type Client, quantile, type Shot, startLoad } from '../rig/load.ts';
import { type Rig, startRig, untilSettled } from '../rig/rig.ts';
import { atLeast, atMost, exactly, type Figure, judged, told, type Verdict, verdict } from '../rig/verdict.ts';
import { auditBooks } from './audit-books.ts';
import { balance } from './books.ts';
import { describe } from './kill-server.ts';

/** How long a command may take that is judged by its store's silence. */
const COMMAND_TIMEOUT = '200ms';

/** P13 and P41: Redis is killed again and again; what it acknowledged is still there. */
export async function killRedis({
  kills,
  say = () => {},
}: {
  readonly kills: number;
  readonly say?: (line: string) => void;
}): Promise<readonly Verdict[]> {
  const rig = await startRig({ audit: true, commandTimeout: COMMAND_TIMEOUT });
  try {
    const load = startLoad({ client: rig.client, perSecond: 50, name: 'redis' });
    const recoveries: number[] = [];
    for (let kill = 1; kill <= kills; kill += 1) {
      await sleep(400 + Math.random() * 600);
      await rig.redis.kill();
      await sleep(Math.random() * 300);
      await rig.redis.restart();
      const began = performance.now();
      recoveries.push((await firstSuccess(rig.client, `probe-${kill}`)) - began);
      if (kill % 10 === 0) say(`${kill} of ${kills} kills of Redis`);
    }
    const shots = await load.stop();
    await rig.stores.ready(5000);
    const settled = await untilSettled(rig, 10_000);
    return [
      verdict('P13 a restart of Redis keeps what it acknowledged', [
        told('requests', shots.length),
        told('kills', kills),
        told('complete', shots.filter(({ complete }) => complete).length),
        exactly('open reservations', settled === null ? await rig.stores.ledger.open() : 0, 0),
        ...(await balance(rig, shots)).figures,
        ...refusals(shots),
        atMost('first success after Redis is back, worst', Math.max(...recoveries), 2000, ' ms'),
      ]),
      await auditBooks({ rig, shots }),
    ];
  } finally {
    await rig.stop();
  }
}

/** P13: what the readiness page says of a Redis that keeps nothing. */
export async function tellsDurability(): Promise<readonly Verdict[]> {
  const rig = await startRig({ appendonly: false });
  try {
    const response = await fetch(`${rig.servers[0]?.ops ?? ''}/readyz`);
    const page = await response.text();
    return [
      verdict('P13 readiness says that nothing is kept', [
        exactly('status', response.status, 200),
        judged('page', page.trim(), page.includes('append-only file')),
      ]),
    ];
  } finally {
    await rig.stop();
  }
}

export interface PauseOptions {
  readonly rule: 'deny' | 'allow';
  /** `pause`: it stays connected and is silent. `kill`: it is gone. */
  readonly how: 'pause' | 'kill';
  readonly seconds: number;
  /** The slowest hundredth of the refusals, once the breaker has opened. */
  readonly refusalMs: number;
  /** From the return of Redis to the first request that is booked there. */
  readonly backMs: number;
}

/** How long the breaker may take to open: five calls at their deadline. */
const OPENING_MS = 1000;

/** P15 and the store's part of P07: an outage by rule, fast and bounded. */
export async function pauseRedis({ rule, how, seconds, refusalMs, backMs }: PauseOptions): Promise<readonly Verdict[]> {
  const rig = await startRig({
    config: { ledger: { lease: '60s', on_crash: 'charge', on_store_error: rule } },
    commandTimeout: COMMAND_TIMEOUT,
  });
  try {
    const load = startLoad({
      client: rig.client,
      perSecond: 50,
      name: how,
      order: (index) => ({ tokens: 4, delayMs: index % 2 === 0 ? 5 : 100 }),
    });
    await sleep(1500);
    const from = performance.now();
    if (how === 'pause') rig.redis.pause();
    else await rig.redis.kill();
    await sleep(seconds * 1000);
    const spooled = await rig.metric('tokenlat_anomalies_total{kind="settlement_spooled"}');
    const to = performance.now();
    if (how === 'pause') rig.redis.resume();
    else await rig.redis.restart();
    const resumed = performance.now();
    const back = await firstBooked(rig, `back-${how}-${rule}`);
    await sleep(1000);
    const shots = await load.stop();
    await rig.stores.ready(5000);
    const settled = await untilSettled(rig, 10_000);
    return [
      verdict(`P15 Redis ${how === 'pause' ? 'silent' : 'gone'} for ${seconds} s (${rule})`, [
        told('requests', shots.length),
        ...during(shots, from, to, rule, refusalMs),
        atMost('first booked request after its return', back - resumed, backMs, ' ms'),
        rule === 'allow' ? atLeast('settlements that waited', spooled, 1) : told('settlements that waited', spooled),
        exactly('lost settlements', await rig.metric('tokenlat_anomalies_total{kind="settlement_lost"}'), 0),
        exactly('open reservations', settled === null ? await rig.stores.ledger.open() : 0, 0),
        ...(await books(rig, shots, rule)),
        ...(await noTimeouts(rig)),
      ]),
    ];
  } finally {
    rig.redis.resume();
    await rig.stop();
  }
}

/** Requests that were served without a booking are in the ledger and not in the counter. */
async function books(rig: Rig, shots: readonly Shot[], rule: 'deny' | 'allow'): Promise<readonly Figure[]> {
  const { figures } = await balance(rig, shots);
  return rule === 'deny' ? figures : figures.filter(({ text }) => !text.startsWith('counter'));
}

function during(
  shots: readonly Shot[],
  from: number,
  to: number,
  rule: 'deny' | 'allow',
  refusalMs: number,
): readonly Figure[] {
  const first = shots.filter(({ startedAt }) => startedAt >= from && startedAt < from + OPENING_MS);
  const then = shots.filter(({ startedAt }) => startedAt >= from + OPENING_MS && startedAt < to);
  const isByRule = ({ status, code, complete, retryAfter }: Shot): boolean =>
    rule === 'allow' ? complete : status === 503 && code === 'store_unavailable' && retryAfter !== null;
  const odd = then.filter((shot) => !isByRule(shot));
  const [one] = odd;
  const times = then.map(({ ms }) => ms);
  return [
    atMost('slowest until the breaker opened', Math.max(0, ...first.map(({ ms }) => ms)), 1500, ' ms'),
    exactly(`answers not by the rule of ${then.length}`, odd.length, 0),
    ...(one === undefined ? [] : [told('such as', describe(one))]),
    ...(rule === 'deny'
      ? [
          atMost('refusals p50', quantile(times, 0.5), 25, ' ms'),
          atMost('p99', quantile(times, 0.99), refusalMs, ' ms'),
        ]
      : []),
  ];
}

/** Failures while a store is away have one form. */
function refusals(shots: readonly Shot[]): readonly Figure[] {
  const odd = shots.filter(
    ({ complete, code, status }) => !complete && !(status === 503 && code === 'store_unavailable'),
  );
  const [one] = odd;
  return [
    exactly('failures of another form than store_unavailable', odd.length, 0),
    ...(one === undefined ? [] : [told('such as', describe(one))]),
  ];
}

async function noTimeouts(rig: Rig): Promise<readonly Figure[]> {
  const stats = Object.values(await rig.envoyStats('message_timeouts'));
  return [
    exactly(
      'message_timeouts',
      stats.reduce((sum, value) => sum + value, 0),
      0,
    ),
  ];
}

async function firstSuccess(client: Client, name: string): Promise<number> {
  for (let probe = 0; probe < 1000; probe += 1) {
    if ((await client.send({ id: `${name}-${probe}`, tokens: 1 })).complete) return performance.now();
    await sleep(20);
  }
  throw new Error('Redis did not come back');
}

/** Under `allow` an answer proves nothing; a booking does. */
async function firstBooked(rig: Rig, name: string): Promise<number> {
  const isUp = async (): Promise<boolean> => {
    const before = await rig.metric('tokenlat_anomalies_total{kind="settlement_spooled"}');
    const { complete } = await rig.client.send({ id: `${name}-${performance.now()}`, tokens: 1 });
    return complete && (await rig.metric('tokenlat_anomalies_total{kind="settlement_spooled"}')) === before;
  };
  if (!(await waitUntil(isUp, { timeoutMs: 20_000 }))) throw new Error('Redis did not come back');
  return performance.now();
}
