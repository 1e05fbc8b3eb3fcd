import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../../src/app/wait-until.ts';
import type { LimitLine } from '../../../src/core/limit.ts';
import { type Client, createClient, type Shot } from '../rig/load.ts';
import { ALL_LIMITS, KINDS, type Level, type LevelLimit, lineOf, type Names, ruleOf } from '../rig/limit-levels.ts';
import { type Rig, startRig, untilSettled } from '../rig/rig.ts';
import { exactly, type Figure, told, type Verdict, verdict } from '../rig/verdict.ts';
import { describe } from './kill-server.ts';

const SERVERS = 3;
const AT_ONCE = 200;
/** How long servers may take to hear of what an operator wrote. */
const HEARD_MS = 1500;
const ROOMY = 1_000_000_000_000;

type Reserved = Readonly<Record<LimitLine['unit'], number>>;

export interface LimitsServedOptions {
  /** Every so many-th of the limits of all levels is the tightest once. */
  readonly each: number;
  readonly say?: (line: string) => void;
}

/** One tenant with limits at every level, and who asks for it. */
interface Racer {
  readonly tenant: string;
  readonly names: Names;
  readonly client: Client;
}

/** P10 from outside: 200 requests at once through Envoy and three servers, with room for k at one of the levels. */
export async function limitsServed({ each, say = () => {} }: LimitsServedOptions): Promise<readonly Verdict[]> {
  const rig = await startRig({ servers: SERVERS, commandTimeout: '1500ms', config: { ledger: { lease: '60s' } } });
  const racers: Racer[] = [];
  try {
    const probe = await enter(rig, 0, () => ROOMY);
    racers.push(probe);
    await sleep(HEARD_MS);
    const reserved = await reservedBy(rig, probe);
    const wrong = { admitted: 0, partial: 0, odd: 0 };
    const examples: Figure[] = [];
    const chosen = ALL_LIMITS.filter((_, at) => at % each === 0);
    let admitted = 0;
    for (const [at, tight] of chosen.entries()) {
      const k = 1 + Math.floor(Math.random() * (AT_ONCE - 10));
      const room = ({ level, kind }: Pick<LevelLimit, 'level' | 'kind'>): number => {
        const one = reserved[KINDS[kind][0]];
        return level === tight.level && kind === tight.kind ? k * one + one - 1 : (k + 1) * one;
      };
      const racer = await enter(rig, at + 1, room);
      racers.push(racer);
      await sleep(HEARD_MS);
      const { shots, used } = await race(rig, racer, k);
      const served = shots.filter(({ complete }) => complete).length;
      admitted += served;
      if (served !== k) wrong.admitted += 1;
      const partial = used.filter(({ line, amount }) => amount !== k * reserved[line.unit]);
      wrong.partial += partial.length;
      const odd = shots.filter(({ complete, status }) => !complete && status !== 429);
      wrong.odd += odd.length;
      const [first] = odd;
      if (served !== k || partial.length > 0 || first !== undefined)
        examples.push(
          told(`${tight.level} ${tight.kind}`, `${served} of ${k}; ${first === undefined ? '' : describe(first)}`),
        );
      if ((at + 1) % 5 === 0) say(`${at + 1} of ${chosen.length} limits`);
    }
    const settled = await untilSettled(rig, 10_000);
    return [
      verdict('P10 exactly as many as there is room for, through three servers', [
        told('requests at once', AT_ONCE),
        told('limits on each', ALL_LIMITS.length),
        told('rounds', chosen.length),
        told('admitted', admitted),
        exactly('rounds with more or fewer than that', wrong.admitted, 0),
        exactly('counters that hold other than that many reservations', wrong.partial, 0),
        exactly('refusals other than 429', wrong.odd, 0),
        exactly('open reservations', settled === null ? await rig.stores.ledger.open() : 0, 0),
        ...examples.slice(0, 3),
      ]),
    ];
  } finally {
    for (const { client } of racers) client.close();
    await rig.stop();
  }
}

/** Writes a tenant, its business line and a key, with limits at every level, as an operator would. */
async function enter(
  rig: Rig,
  number: number,
  room: (of: Pick<LevelLimit, 'level' | 'kind'>) => number,
): Promise<Racer> {
  const tenant = `race-${number}`;
  const id = `key_${String(number).padStart(20, '0')}`;
  const secret = `sk-tl-${'race'.repeat(6)}-${number}`;
  const names = { line: 'x', key: id, subject: 'ann', model: 'chaos' };
  const rules = (...levels: readonly Level[]) =>
    ALL_LIMITS.filter(({ level }) => levels.includes(level)).map((of) => ruleOf({ ...of, limit: room(of) }, names));
  const { directory } = rig.stores;
  const limits = { limits: rules('tenant', 'model'), subjectLimits: rules('subject') };
  await directory.put('tenant', tenant, { name: tenant, tier: 'standard', ...limits }, 0);
  const line = { tenant, name: 'x', costTier: 'core' as const, limits: rules('line'), channels: [] };
  await directory.put('line', `${tenant}/x`, line, 0);
  const sha256 = createHash('sha256').update(secret).digest('hex');
  const key = {
    id,
    name: tenant,
    sha256,
    hint: 'sk-tl-race',
    tenant,
    subject: names.subject,
    businessLine: names.line,
    models: ['*'],
    scopes: [],
    tags: {},
    limits: rules('key'),
    expiresAt: null,
    revokedAt: null,
    previous: null,
  };
  await directory.put('key', id, key, 0);
  return { tenant, names, client: createClient(rig.origin, secret) };
}

/** What one request of the race sets aside. */
async function reservedBy(rig: Rig, probe: Racer): Promise<Reserved> {
  const { used } = await race(rig, probe, 1, 1);
  const of = (unit: LimitLine['unit']): number => used.find(({ line }) => line.unit === unit)?.amount ?? 0;
  return { requests: of('requests'), tokens: of('tokens'), spend: of('spend') };
}

/** Sends all at once; what is admitted waits at the upstream until every refusal has come and the counters are read. */
async function race(rig: Rig, { tenant, names, client }: Racer, k: number, count = AT_ONCE) {
  let open = (): void => {};
  rig.upstream.gate = new Promise<void>((resolve) => (open = resolve));
  let ended = 0;
  const id = (at: number): string => `${tenant.padEnd(8, '-')}-${String(at).padStart(3, '0')}`;
  const sent = Array.from({ length: count }, async (_, at): Promise<Shot> => {
    const shot = await client.send({ id: id(at), tokens: 4, maxTokens: 20 });
    ended += 1;
    return shot;
  });
  const lines = ALL_LIMITS.map((of) => lineOf({ ...of, limit: ROOMY }, names));
  const read = async () =>
    (await rig.stores.quota.peek(tenant, lines)).map(({ line, remaining }) => ({ line, amount: ROOMY - remaining }));
  await waitUntil(async () => ended >= count - k, { timeoutMs: 15_000 });
  // The last that are let in may still be on their way; one too many would be let in now.
  await waitUntil(async () => (await read()).some(({ line, amount }) => line.unit === 'requests' && amount >= k), {
    timeoutMs: 5000,
  });
  await sleep(300);
  const used = await read();
  open();
  return { shots: await Promise.all(sent), used };
}
