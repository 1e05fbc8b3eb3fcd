import type { LimitLine, LimitState } from '../../core/limit.ts';
import { periodAt } from '../../lib/calendar/calendar-period.ts';
import { createSlidingWindow } from './sliding-window.ts';
import type { SlidingWindow } from './sliding-window.ts';

const DAY_MS = 86_400_000;
/** When an open operation will end is not known: ask again after this long. */
const OPEN_WAIT_MS = 1000;

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
  /** Makes the counter hold `actual` instead of `charged`; what is open is `close`d instead. */
  readonly replace: (taken: Taken, charged: number, actual: number, now: number) => void;
  /** Ends an operation's part in a counter of what is open; nothing for other windows. */
  readonly close: (taken: Taken) => void;
  /** Names one counter: lines of one key count together. */
  readonly key: (line: LimitLine, now: number) => string;
  /** Forgets counters that hold nothing any more; true when none is left. */
  readonly prune: (now: number) => boolean;
}

/** Counters in memory; the same answers as the scripts of Redis give. */
export function createCounters(): Counters {
  const windows = new Map<string, SlidingWindow>();
  const periods = new Map<string, { sum: number; readonly forget: number }>();
  const open = new Map<string, number>();

  const windowOf = (name: string, seconds: number): SlidingWindow => {
    const window = windows.get(name) ?? createSlidingWindow({ seconds });
    windows.set(name, window);
    return window;
  };
  const sum = (line: LimitLine, now: number): number => {
    const name = key(line, now);
    return windows.get(name)?.sum(now) ?? periods.get(name)?.sum ?? open.get(name) ?? 0;
  };
  const resetMs = (line: LimitLine, now: number): number => {
    const { window } = line;
    if (sum(line, now) === 0) return 0;
    if (window.kind === 'concurrent') return OPEN_WAIT_MS;
    if (window.kind === 'calendar') return periodAt(now, window.unit, window.zone).end - now;
    return windowOf(key(line, now), window.seconds).resetMs(now);
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
      const { window } = line;
      if (window.kind === 'concurrent') return OPEN_WAIT_MS;
      if (window.kind === 'calendar') return periodAt(now, window.unit, window.zone).end - now;
      if (amount > line.limit) return resetMs(line, now) || window.seconds * 1000;
      return windowOf(key(line, now), window.seconds).waitMs(now, sum(line, now) - (line.limit - amount));
    },
    take: (line, amount, now) => {
      const { window } = line;
      const name = key(line, now);
      if (window.kind === 'sliding') {
        return { line, key: name, bucket: windowOf(name, window.seconds).add(now, amount), amount };
      }
      if (window.kind === 'concurrent') {
        if (amount > 0) open.set(name, (open.get(name) ?? 0) + amount);
        return { line, key: name, bucket: 0, amount };
      }
      const forget = periodAt(now, window.unit, window.zone).end + DAY_MS;
      const period = periods.get(name) ?? { sum: 0, forget };
      period.sum += amount;
      periods.set(name, period);
      return { line, key: name, bucket: 0, amount };
    },
    replace: ({ line, key: name, bucket }, charged, actual, now) => {
      const difference = actual - charged;
      if (line.window.kind === 'concurrent') return;
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
    close: ({ line, key: name, amount }) => {
      if (line.window.kind !== 'concurrent') return;
      const left = (open.get(name) ?? 0) - amount;
      if (left > 0) open.set(name, left);
      else open.delete(name);
    },
    prune: (now) => {
      for (const [name, window] of windows) if (window.sum(now) === 0) windows.delete(name);
      for (const [name, { forget }] of periods) if (forget < now) periods.delete(name);
      return windows.size + periods.size + open.size === 0;
    },
  };
}

function key({ unit, window, scope }: LimitLine, now: number): string {
  if (window.kind === 'sliding') return JSON.stringify([unit, window.kind, window.seconds, scope]);
  if (window.kind === 'concurrent') return JSON.stringify([unit, window.kind, scope]);
  const { zone = 'UTC' } = window;
  return JSON.stringify([unit, window.unit, zone, periodAt(now, window.unit, zone).id, scope]);
}
