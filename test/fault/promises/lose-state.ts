import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Redis } from 'ioredis';
import { readAudit } from '../../../src/app/read-audit.ts';
import { waitUntil } from '../../../src/app/wait-until.ts';
import type { LedgerEvent } from '../../../src/core/ledger-event.ts';
import { ledgerWorld } from '../../contract/lost-ledger.ts';
import { startLoad } from '../rig/load.ts';
import { type Rig, startRig, untilSettled } from '../rig/rig.ts';
import { runTokenlat } from '../rig/server-child.ts';
import { atLeast, atMost, exactly, told, type Verdict, verdict } from '../rig/verdict.ts';

export interface LosesStateOptions {
  /** How long there is load before. */
  readonly seconds: number;
  /** Within what time after the rebuild requests are served again. */
  readonly againMs: number;
}

/** P14: Redis is emptied under load; requests are refused until the ledger is made from the audit again. */
export async function losesState({ seconds, againMs }: LosesStateOptions): Promise<readonly Verdict[]> {
  const audit = { dir: 'audit', key_file: 'audit.pem', checkpoint: { dir: 'checkpoints', every: '1s' } };
  const rig = await startRig({ workers: 2, config: { audit } });
  try {
    return [await judge(rig, seconds, againMs)];
  } finally {
    await rig.stop();
  }
}

/** So many refusals in a row that both workers must have given some: connections are spread over them. */
const SURELY_BOTH = 12;

type Counted = Awaited<ReturnType<Rig['counted']>>;

async function judge(rig: Rig, seconds: number, againMs: number): Promise<Verdict> {
  const config = join(rig.dir, 'tokenlat-0.yaml');
  const load = startLoad({ client: rig.client, perSecond: 40, name: 'before' });
  await sleep(seconds * 1000);
  const shots = await load.stop();
  await untilSettled(rig, 10_000);
  const before = { events: await rig.ledger(), counted: await rig.counted() };
  const redis = new Redis(rig.redis.url);
  await redis.flushall();
  redis.disconnect();
  // Each worker notices for itself; what one of them served until then is booked and must not be lost either.
  const emptied = performance.now();
  let lastServed = emptied;
  let refused = await rig.client.send({ id: 'unnoticed' });
  const isNoticed = await waitUntil(
    async () => {
      for (let left = SURELY_BOTH; left > 0; left -= 1) {
        refused = await rig.client.send({ id: `refused-${left}` });
        if (refused.status !== 200) continue;
        lastServed = refused.startedAt;
        return false;
      }
      return true;
    },
    { timeoutMs: 20_000, everyMs: 20 },
  );
  const noticed = isNoticed ? lastServed - emptied : Infinity;
  const alarm = await rig.metric('tokenlat_state_lost');
  await untilSettled(rig, 10_000);
  const meanwhile = { events: await rig.ledger(), counted: await rig.counted() };
  const ready = await (await fetch(`${rig.servers[0]?.ops}/readyz`)).text();
  const rebuilt = await runTokenlat(['cost', 'rebuild', '-c', config]);
  const again = await took(async () => (await rig.metric('tokenlat_state_lost')) === 0);
  const expected = booksOf([...before.events, ...meanwhile.events], {
    tokens: before.counted.tokens + meanwhile.counted.tokens,
    spend: before.counted.spend + meanwhile.counted.spend,
  });
  const after = booksOf(await rig.ledger(), await rig.counted());
  const served = await rig.client.send({ id: 'served' });
  const reader = readAudit(config, []);
  const events = async () => (await reader.find({})).map(({ record }) => record.facts['event']);
  // A record is on disk a moment after what it tells.
  await waitUntil(async () => (await events()).includes('state_rebuilt'), { timeoutMs: 10_000, everyMs: 200 });
  const told14 = await events();
  return verdict('P14 lost state', [
    told('requests', shots.length),
    atMost('noticed within', noticed, 1000, ' ms'),
    exactly('alarm', Number(alarm >= 1), 1),
    told('served until then', meanwhile.events.length),
    exactly('status from then on', refused.status, 503),
    exactly('code state_lost', Number(refused.code === 'state_lost'), 1),
    exactly('readyz says so', Number(ready.includes('has lost what it held')), 1),
    exactly('exit code of the rebuild', rebuilt.code ?? -1, 0),
    told('rebuild', rebuilt.stdout.trim().replaceAll('\n', '; ')),
    exactly('difference of cost and tokens', Number(!isDeepStrictEqual(expected, after)), 0),
    atLeast('entries', after.length, 1),
    atMost('served again within', again, againMs, ' ms'),
    exactly('status then', served.status, 200),
    exactly('recorded: lost', told14.filter((event) => event === 'state_lost').length, 1),
    exactly('recorded: rebuilt', told14.filter((event) => event === 'state_rebuilt').length, 1),
    exactly('audit holds', Number((await reader.verify()).ok), 1),
  ]);
}

/** Sums by tenant, model, line, day and payer, and the day's counter. */
function booksOf(ledger: readonly LedgerEvent[], counted: Counted): readonly unknown[] {
  const sums = new Map<string, [cost: bigint, tokens: number, events: number]>();
  for (const { tenant, model, businessLine, time, chargedTo, cost, ...event } of ledger) {
    const key = JSON.stringify([tenant, model, businessLine, new Date(time).toISOString().slice(0, 10), chargedTo]);
    const [costs, tokens, events] = sums.get(key) ?? [0n, 0, 0];
    sums.set(key, [costs + BigInt(cost), tokens + event.promptTokens + event.completionTokens, events + 1]);
  }
  const rows = [...sums]
    .map(([key, [cost, tokens, events]]) => `${key} ${cost} ${tokens} ${events}`)
    .toSorted((a, b) => a.localeCompare(b));
  return rows.length === 0 ? [] : [...rows, counted];
}

/** Milliseconds until `condition` holds; infinite when it does not within 20 s. */
async function took(condition: () => Promise<boolean>): Promise<number> {
  const began = performance.now();
  return (await waitUntil(condition, { timeoutMs: 20_000, everyMs: 20 })) ? performance.now() - began : Infinity;
}

/** P14 at size: `requests` without Envoy, then an emptied Redis and a rebuild. */
export async function rebuildsLedger({ requests }: { readonly requests: number }): Promise<readonly Verdict[]> {
  const world = await ledgerWorld();
  try {
    await world.serve(requests);
    const before = await world.books();
    await world.raw.flushall();
    const began = performance.now();
    const { error, out } = await world.cost('rebuild');
    const ms = performance.now() - began;
    const after = await world.books();
    return [
      verdict('P14 the ledger from the audit', [
        told('requests', requests),
        exactly('failed', Number(error !== null), 0),
        told('rebuild', out.trim().replaceAll('\n', '; ')),
        told('seconds', ms / 1000),
        exactly('entries', Number(after['entries']), Number(before['entries'])),
        exactly(
          'books that differ',
          Object.keys(before).filter((key) => !isDeepStrictEqual(before[key], after[key])).length,
          0,
        ),
      ]),
    ];
  } finally {
    await world.close();
  }
}
