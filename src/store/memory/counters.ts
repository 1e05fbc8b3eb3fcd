import type { LimitLine, LimitState } from '../../core/limit.ts';
import { periodAt } from './calendar-period.ts';
import { createSlidingWindow } from './sliding-window.ts';
import type { SlidingWindow } from './sliding-window.ts';

const DAY_MS = 86_400_000;

/** What a reservation took from one counter. */
export interface Taken {
  readonly line: LimitLine;
  readonly key: string;
  readonly bucket: number;
  readonly amount: number;
}

/** The counters of one tenant. Times are unix ms. */
export interface Counters {
  readonly sum: (line: LimitLine, now: number) => number;
  readonly state: (line: LimitLine, now: number) => LimitState;
  /** Milliseconds until `amount` would fit, if nobody else takes it. */
  readonly waitMs: (line: LimitLine, amount: number, now: number) => number;
  readonly take: (line: LimitLine, amount: number, now: number) => Taken;
  /** Makes the counter hold `actual` instead of `charged`. */
  readonly replace: (taken: Taken, charged: number, actual: number, now: number) => void;
  /** Names one counter: lines of one key count together. */
  readonly key: (line: LimitLine, now: number) => string;
  /** Forgets counters that hold nothing any more; true when none is left. */
  readonly prune: (now: number) => boolean;
}

/** Counters in memory; the same answers as the scripts of Redis give. */
export function createCounters(): Counters {
  const windows = new Map<string, SlidingWindow>();
  const periods = new Map<string, { sum: number; readonly forget: number }>();

  const windowOf = (name: string, seconds: number): SlidingWindow => {
    const window = windows.get(name) ?? createSlidingWindow({ seconds });
    windows.set(name, window);
    return window;
  };
  const sum = (line: LimitLine, now: number): number => {
    const name = key(line, now);
    return windows.get(name)?.sum(now) ?? periods.get(name)?.sum ?? 0;
  };
  const resetMs = (line: LimitLine, now: number): number => {
    if (sum(line, now) === 0) return 0;
    if (line.window.kind === 'calendar') return periodAt(now, line.window.unit).end - now;
    return windowOf(key(line, now), line.window.seconds).resetMs(now);
  };

  return {
    key,
    sum,
    state: (line, now) => ({
      line,
      remaining: Math.max(0, line.limit - sum(line, now)),
      resetMs: resetMs(line, now),
    }),
    waitMs: (line, amount, now) => {
      if (line.window.kind === 'calendar') return periodAt(now, line.window.unit).end - now;
      if (amount > line.limit) return resetMs(line, now) || line.window.seconds * 1000;
      return windowOf(key(line, now), line.window.seconds).waitMs(now, sum(line, now) - (line.limit - amount));
    },
    take: (line, amount, now) => {
      const name = key(line, now);
      if (line.window.kind === 'sliding') {
        return { line, key: name, bucket: windowOf(name, line.window.seconds).add(now, amount), amount };
      }
      const period = periods.get(name) ?? { sum: 0, forget: periodAt(now, line.window.unit).end + DAY_MS };
      period.sum += amount;
      periods.set(name, period);
      return { line, key: name, bucket: 0, amount };
    },
    replace: ({ line, key: name, bucket }, charged, actual, now) => {
      const difference = actual - charged;
      if (line.window.kind === 'sliding') {
        const window = windowOf(name, line.window.seconds);
        if (difference > 0) window.add(now, difference);
        else window.refund(now, bucket, -difference);
        return;
      }
      const period = periods.get(name);
      if (period === undefined || period.sum > Number.MAX_SAFE_INTEGER - difference) return;
      period.sum = Math.max(0, period.sum + difference);
    },
    prune: (now) => {
      for (const [name, window] of windows) if (window.sum(now) === 0) windows.delete(name);
      for (const [name, { forget }] of periods) if (forget < now) periods.delete(name);
      return windows.size + periods.size === 0;
    },
  };
}

function key(line: LimitLine, now: number): string {
  const per = line.window.kind === 'sliding' ? line.window.seconds : periodAt(now, line.window.unit).id;
  return JSON.stringify([line.unit, line.window.kind, per, line.scope]);
}
