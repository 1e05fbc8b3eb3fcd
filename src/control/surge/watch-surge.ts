import type { Clock } from '../../core/ports/clock.ts';
import type { SurgeWord, WorkerLive } from '../../core/ports/live.ts';
import type { SurgeView } from '../../core/ports/surge.ts';
import type { SurgePolicy } from '../../core/surge.ts';
import { type HeldLevels, NO_LEVEL, nextLevel } from './next-level.ts';
import { RateMeter } from './rate-meter.ts';

export interface WatchSurgeOptions {
  /** Null: nobody is to be protected. */
  readonly policy: () => SurgePolicy | null;
  /** Workers of this server: so many are reckoned with until somebody is heard. */
  readonly workers: number;
  readonly clock: Pick<Clock, 'now'>;
  /** After each look. `rate`: of all workers, requests a second. */
  readonly onLook?: (seen: { readonly level: number; readonly before: number; readonly rate: number }) => void;
  readonly everyMs?: number;
  /** Who says nothing new for so long is gone. */
  readonly keepMs?: number;
}

/** The level of load over all workers, as this one knows it. */
export interface SurgeWatch extends SurgeView {
  /** What the others need to know. */
  readonly word: () => SurgeWord;
  /** What all others said, by now. */
  readonly hear: (others: readonly WorkerLive[]) => void;
  /** Looks at the rate; otherwise done on a timer. */
  readonly look: () => void;
  readonly close: () => void;
}

/** What somebody else said last, and since when, by our own clock, that is known. */
interface Heard {
  readonly at: number;
  readonly seenAt: number;
  readonly word: SurgeWord;
}

/**
 * Measures the rate of requests, adds what the others measure, and decides the level, four times a second and off the way
 * of requests. The level is the highest that any worker decided, so that all have the same as soon as they have heard.
 * While nobody can be heard, all are reckoned with as if they had this worker's rate.
 */
export function watchSurge(options: WatchSurgeOptions): SurgeWatch {
  const { policy, workers, clock, onLook, everyMs = 250, keepMs = 2500 } = options;
  const meter = new RateMeter(clock.now());
  let held: HeldLevels = NO_LEVEL;
  let heard: ReadonlyMap<string, Heard> = new Map();
  let heardAt = Number.NEGATIVE_INFINITY;
  /** How many workers there are, as far as was ever heard. */
  let known = workers;
  let everHeard = false;
  let own = 0;
  let level = 0;

  /** Of all workers. A silent one is gone, and its requests come to others: they must not count twice. */
  function rateOf(others: readonly SurgeWord[], now: number): number {
    const isAlone = now - heardAt < keepMs && everHeard;
    if (others.length === 0) return isAlone ? own : own * known;
    return others.reduce((total, { rate }) => total + rate, own);
  }

  function look(): void {
    const now = clock.now();
    own = meter.tick(now);
    const others = [...heard.values()].filter(({ seenAt }) => now - seenAt < keepMs).map(({ word }) => word);
    const rate = rateOf(others, now);
    const rules = policy();
    held = rules === null ? NO_LEVEL : nextLevel(held, { rate, now }, rules);
    const before = level;
    // A replica with another configuration may have more levels.
    level = Math.min(rules?.levels.length ?? 0, Math.max(held.length, ...others.map((one) => one.level)));
    onLook?.({ level, before, rate });
  }

  function hear(others: readonly WorkerLive[]): void {
    const now = clock.now();
    const next = new Map<string, Heard>();
    for (const { replica, worker, at, surge: word } of others) {
      if (word === undefined) continue;
      const name = `${replica}/${worker}`;
      const before = heard.get(name);
      next.set(name, before?.at === at ? before : { at, seenAt: now, word });
    }
    heard = next;
    heardAt = now;
    everHeard ||= next.size > 0;
    if (everHeard) known = next.size + 1;
    look();
  }

  const timer = setInterval(look, everyMs);
  timer.unref();
  return {
    arrived: () => meter.arrived(),
    level: () => level,
    word: () => ({ rate: Math.round(own * 10) / 10, level: held.length }),
    hear,
    look,
    close: () => clearInterval(timer),
  };
}
