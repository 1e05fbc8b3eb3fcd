import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { waitUntil } from '../../../src/app/wait-until.ts';
import { type ChdbServer, startChdb } from '../../support/chdb-server.ts';
import { startLoad } from '../rig/load.ts';
import { type Rig, startRig, untilSettled } from '../rig/rig.ts';
import { atLeast, atMost, exactly, told, type Verdict, verdict } from '../rig/verdict.ts';

const BOOKED = 'SELECT count(), toString(sum(cost_micro)), toString(sum(prompt_tokens + completion_tokens))';

/**
 * Requests reach the engine once each, though the worker that carries them is killed again and again, and the engine is away
 * for a while.
 */
export async function carriesLedger({ kills }: { readonly kills: number }): Promise<readonly Verdict[]> {
  const engine = await startChdb();
  try {
    const sink = { kind: 'clickhouse', url: engine.url, interval: '200ms', batch: 50, timeout: '2s' };
    const config = { ledger: { lease: '3s', on_crash: 'charge', max_events: 100, sink } };
    const rig = await startRig({ workers: 2, config });
    try {
      return [await judge(rig, engine, kills)];
    } finally {
      await rig.stop();
    }
  } finally {
    await engine.stop();
  }
}

async function judge(rig: Rig, engine: ChdbServer, kills: number): Promise<Verdict> {
  const redis = new Redis(rig.redis.url);
  try {
    const load = startLoad({ client: rig.client, perSecond: 50, name: 'sink' });
    const handedOver: number[] = [];
    for (let kill = 0; kill < kills; kill += 1) {
      await sleep(1500);
      if (kill === 1) await engine.kill();
      handedOver.push(await killLeader(redis));
    }
    const wasBehind = await waitUntil(async () => (await rig.metric('tokenlat_ledger_sink_lag_events')) > 0, {
      timeoutMs: 10_000,
    });
    await engine.restart();
    const shots = await load.stop();
    const settledMs = await untilSettled(rig, 20_000);
    const began = performance.now();
    const expected = await bookedInAll(redis);
    const arrived = await waitUntil(async () => (await rowsOf(engine)) >= expected, {
      timeoutMs: 90_000,
      everyMs: 250,
    });
    const [row] = await engine.ask(`${BOOKED} FROM tokenlat_ledger_once`);
    const unlike = await engine.ask(
      'SELECT count() FROM (SELECT operation FROM tokenlat_ledger_once GROUP BY operation, attempt, kind HAVING count() != 1)',
    );
    return verdict('the ledger is carried once', [
      told('requests', shots.length),
      told('leaders killed', handedOver.length),
      exactly('settled', settledMs === null ? 0 : 1, 1),
      exactly('lag was seen while the engine was away', Number(wasBehind), 1),
      exactly('all of it came', Number(arrived), 1),
      exactly('rows minus bookings', Number(row?.[0]) - expected, 0),
      exactly('bookings with more than one row', Number(unlike[0]?.[0]), 0),
      exactly('cut before they were sent', await rig.metric('tokenlat_ledger_sink_cut_events_total'), 0),
      atMost('the next leader after', Math.max(...handedOver), 4000, ' ms'),
      told('carried after the end within', `${Math.round(performance.now() - began)} ms`),
      atMost('kept in Redis after it was sent', await redis.xlen('tl:{acme}:ledger'), 300),
      atLeast('bookings', expected, kills * 50),
    ]);
  } finally {
    redis.disconnect();
  }
}

/** Kills the worker that leads; how many milliseconds later another one does. */
async function killLeader(redis: Redis): Promise<number> {
  const holder = async (): Promise<string | null> => redis.get('tl:{~}:lease:ledger-sink');
  let before = '';
  await waitUntil(async () => ((before = (await holder()) ?? ''), before !== ''), { timeoutMs: 5000 });
  // `<host>-<pid>-<uuid>`: a uuid has five parts.
  const pid = Number(before.split('-').at(-6));
  process.kill(pid, 'SIGKILL');
  const killed = performance.now();
  await waitUntil(async () => ![null, before].includes(await holder()), { timeoutMs: 8000, everyMs: 20 });
  return performance.now() - killed;
}

async function bookedInAll(redis: Redis): Promise<number> {
  return Number((await redis.get('tl:{acme}:ledger:n')) ?? 0);
}

async function rowsOf(engine: ChdbServer): Promise<number> {
  const rows = await engine.ask('SELECT count() FROM tokenlat_ledger_once').catch(() => []);
  return Number(rows[0]?.[0] ?? 0);
}
