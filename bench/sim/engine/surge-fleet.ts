import { type SurgeWatch, watchSurge } from '../../../src/control/surge/watch-surge.ts';
import type { WorkerLive } from '../../../src/core/ports/live.ts';
import type { SurgePolicy } from '../../../src/core/surge.ts';
import type { Random } from './random.ts';

/** A kind of user: each of its requests is alike. */
export interface User {
  readonly name: string;
  /** Its requests a second, in parts of all. */
  readonly weight: number;
  readonly stream: boolean;
  readonly n: number;
  /** It takes fewer choices rather than a refusal. */
  readonly acceptsFewer: boolean;
  /** Between 0 and 1: who is below the share that is diverted goes to the light model. */
  readonly place: number;
  readonly exempt: boolean;
}

/** What became of one request. */
export interface Handled {
  readonly at: number;
  readonly user: User;
  readonly level: number;
  readonly what: 'usual' | 'refused' | 'reduced' | 'diverted' | 'buffered';
  /** From its arrival until the worker had done all its work for it, milliseconds. */
  readonly ms: number;
}

export interface FleetOptions {
  /** Null: nothing is done about high load. */
  readonly policy: SurgePolicy | null;
  readonly workers: number;
  readonly users: readonly User[];
  /** Requests a second at a moment (milliseconds). */
  readonly rateAt: (ms: number) => number;
  readonly endMs: number;
  /** Milliseconds of CPU. */
  readonly costOf: (user: User, what: Handled['what']) => number;
  readonly random: Random;
}

const [LOOK_MS, TELL_MS, HEAR_MS] = [250, 1000, 500];

/**
 * Workers with one CPU each, to which requests come by chance; each has the gateway's own watch on the load and tells the
 * others as it does there. In virtual time: nothing waits but requests for their worker.
 */
export function playFleet({ policy, workers, users, rateAt, endMs, costOf, random }: FleetOptions): readonly Handled[] {
  let now = 0;
  const clock = { now: () => now };
  const watches = Array.from({ length: workers }, () => watchSurge({ policy: () => policy, workers, clock }));
  const words: WorkerLive[] = [];
  const freeAt = new Float64Array(workers);
  const draw = drawer(users, random);
  const handled: Handled[] = [];
  let [look, tell, hear] = [LOOK_MS, TELL_MS, HEAR_MS];
  while (now < endMs) {
    now -= (Math.log(1 - random()) / rateAt(now)) * 1000;
    for (; look <= now; look += LOOK_MS) for (const watch of watches) watch.look();
    for (; tell <= now; tell += TELL_MS)
      for (const [at, watch] of watches.entries()) words[at] = wordOf(watch, at, tell);
    for (; hear <= now; hear += HEAR_MS)
      for (const [at, watch] of watches.entries()) watch.hear(words.filter(({ worker }) => worker !== at));
    const worker = Math.floor(random() * workers);
    const watch = watches[worker] as SurgeWatch;
    const user = draw();
    watch.arrived();
    const level = watch.level();
    const what = whatOf(user, level, policy);
    const done = Math.max(now, freeAt[worker] ?? 0) + costOf(user, what);
    freeAt[worker] = done;
    handled.push({ at: now, user, level, what, ms: done - now });
  }
  for (const watch of watches) watch.close();
  return handled;
}

/** The gateway's rules, in their order: first n, then who serves, then how. */
export function whatOf(
  { n, acceptsFewer, place, stream, exempt }: User,
  level: number,
  policy: SurgePolicy | null,
): Handled['what'] {
  const rules = policy?.levels[level - 1];
  if (rules === undefined || exempt) return 'usual';
  if (rules.largestN !== null && n > rules.largestN) return acceptsFewer ? 'reduced' : 'refused';
  if (rules.bufferStreams && stream) return 'buffered';
  return rules.divert !== null && place < rules.divert.share ? 'diverted' : 'usual';
}

function wordOf(watch: SurgeWatch, worker: number, at: number): WorkerLive {
  return { replica: 'r', worker, startedAt: 0, at, running: 0, rows: [], surge: watch.word() };
}

function drawer(users: readonly User[], random: Random): () => User {
  const sums: number[] = [];
  for (const { weight } of users) sums.push((sums.at(-1) ?? 0) + weight);
  const all = sums.at(-1) ?? 0;
  return () => {
    const at = random() * all;
    let [low, high] = [0, sums.length - 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((sums[middle] ?? 0) > at) high = middle;
      else low = middle + 1;
    }
    return users[low] as User;
  };
}
