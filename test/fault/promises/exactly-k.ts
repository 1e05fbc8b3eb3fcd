import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createRedisStores } from '../../../src/store/redis/redis-stores.ts';
import type { Stores } from '../../../src/store/stores.ts';
import { silentLog, silentMetrics } from '../../../src/telemetry/silent.ts';
import { startRedis } from '../../support/redis-server.ts';
import { type AdmitAnswer, type AdmitOrder, RESERVED, USED } from '../rig/admit-messages.ts';
import { ALL_LIMITS, KINDS, type LevelLimit, lineOf } from '../rig/limit-levels.ts';
import { exactly, type Figure, told, type Verdict, verdict } from '../rig/verdict.ts';

const CHILD = path.join(import.meta.dirname, '../rig/admit-child.ts');
const PROCESSES = 3;
const AT_ONCE = 200;

export interface ExactlyKOptions {
  /** For each level with each kind as the tightest, and so many more with several tight ones each time. */
  readonly rounds: number;
  readonly say?: (line: string) => void;
}

/** What a round is about: each limit's room, in requests. */
type Rooms = readonly number[];

/** P10: of 200 at once, asked by three processes, just as many pass as the tightest limit holds, and no limit is part paid. */
export async function exactlyK({ rounds, say = () => {} }: ExactlyKOptions): Promise<readonly Verdict[]> {
  const redis = await startRedis();
  const children = await Promise.all(Array.from({ length: PROCESSES }, () => startChild(redis.url)));
  const stores = createRedisStores({
    redis: { url: redis.url, sentinel: null, cluster: null, commandTimeoutMs: 10_000, keyPrefix: 'tl:' },
    ledger: { leaseMs: 60_000, keepMs: 600_000, maxEvents: 100_000, zone: 'UTC' },
    log: silentLog,
    metrics: silentMetrics,
  });
  try {
    await stores.ready(10_000);
    const judge = new Judge();
    for (let round = 0; round < rounds; round += 1) {
      for (const tight of ALL_LIMITS.keys()) await play(stores, children, oneTight(tight), judge);
      await play(stores, children, manyTight(), judge);
      if ((round + 1) % 10 === 0) say(`${round + 1} of ${rounds} rounds, ${judge.played} of ${AT_ONCE} requests each`);
    }
    return [
      verdict('P10 exactly as many as there is room for', [
        told('processes', PROCESSES),
        told('requests at once', AT_ONCE),
        told('limits on each', ALL_LIMITS.length),
        exactly('rounds', judge.played, rounds * (ALL_LIMITS.length + 1)),
        told('admitted', judge.admitted),
        ...judge.figures(),
        exactly('open reservations', await stores.ledger.open(), 0),
      ]),
    ];
  } finally {
    await stores.close();
    for (const child of children) child.kill('SIGKILL');
    await redis.stop();
  }
}

type Wrong = 'admitted' | 'partial' | 'settled' | 'booked' | 'odd';

/** Adds up what was wrong. */
class Judge {
  played = 0;
  admitted = 0;
  readonly #wrong: Record<Wrong, number> = { admitted: 0, partial: 0, settled: 0, booked: 0, odd: 0 };
  #first = '';

  note(what: Wrong, text: string): void {
    this.#wrong[what] += 1;
    if (this.#first === '') this.#first = text;
  }

  figures(): readonly Figure[] {
    return [
      exactly('rounds with more or fewer than that', this.#wrong.admitted, 0),
      exactly('counters that hold other than that many reservations', this.#wrong.partial, 0),
      exactly('counters that hold other than what was used, at the end', this.#wrong.settled, 0),
      exactly('ledgers with other events', this.#wrong.booked, 0),
      exactly('refusals for another reason', this.#wrong.odd, 0),
      ...(this.#first === '' ? [] : [told('such as', this.#first)]),
    ];
  }
}

/** One limit holds k; all others more. */
function oneTight(tight: number): Rooms {
  const k = 1 + Math.floor(Math.random() * (AT_ONCE - 10));
  return ALL_LIMITS.map((_, at) => (at === tight ? k : k + 1 + Math.floor(Math.random() * 9)));
}

/** Any limit may be the tightest, and several are at once. */
function manyTight(): Rooms {
  const k = 1 + Math.floor(Math.random() * (AT_ONCE - 10));
  return ALL_LIMITS.map(() => k + Math.floor(Math.random() * 3));
}

let tenants = 0;

async function play(stores: Stores, children: readonly ChildProcess[], rooms: Rooms, judge: Judge): Promise<void> {
  const k = Math.min(...rooms);
  const tenant = `race-${(tenants += 1)}`;
  const limits = ALL_LIMITS.map((of, at): LevelLimit => {
    const each = RESERVED[KINDS[of.kind][0]];
    // Not quite one more fits.
    return { ...of, limit: (rooms[at] ?? 0) * each + each - 1 };
  });
  const shares = children.map((_, at) => Math.floor((AT_ONCE + at) / PROCESSES));
  const answers = await Promise.all(
    children.map((child, at) => ask(child, { kind: 'admit', tenant, count: shares[at] ?? 0, limits })),
  );
  const held = answers.reduce((sum, answer) => sum + answer.held, 0);
  const about = `${tenant}: ${held} of ${k}, ${JSON.stringify(limits)}`;
  judge.played += 1;
  judge.admitted += held;
  if (held !== k || answers.reduce((sum, answer) => sum + answer.denied, 0) !== AT_ONCE - k)
    judge.note('admitted', about);
  for (const { odd } of answers) for (const text of odd) judge.note('odd', text);
  await compare(
    stores,
    tenant,
    limits,
    (unit) => k * RESERVED[unit],
    () => judge.note('partial', about),
  );
  await Promise.all(children.map((child) => ask(child, { kind: 'finish' })));
  const after = (unit: keyof typeof USED, isOpen: boolean): number => (isOpen ? 0 : k * USED[unit]);
  await compare(stores, tenant, limits, after, () => judge.note('settled', about));
  const events = await stores.ledger.read(tenant, null, 1000);
  if (events.length !== k) judge.note('booked', `${about}: ${events.length} events`);
}

async function compare(
  stores: Stores,
  tenant: string,
  limits: readonly LevelLimit[],
  wanted: (unit: keyof typeof USED, isOpen: boolean) => number,
  onDifference: () => void,
): Promise<void> {
  for (const { line, remaining } of await stores.quota.peek(
    tenant,
    limits.map((limit) => lineOf(limit)),
  )) {
    if (line.limit - remaining !== wanted(line.unit, line.window.kind === 'concurrent')) onDifference();
  }
}

async function startChild(url: string): Promise<ChildProcess> {
  const child = fork(CHILD, [url]);
  await once(child, 'message');
  return child;
}

async function ask(child: ChildProcess, order: AdmitOrder): Promise<AdmitAnswer> {
  const answer = once(child, 'message') as Promise<[AdmitAnswer]>;
  child.send(order);
  return (await answer)[0];
}
