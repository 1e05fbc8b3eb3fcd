const BUCKETS = 600;

/** Counts in buckets of one second (coarser above ten minutes), so that no trailing window ever holds more than its limit. */
export interface SlidingWindow {
  /** Takes at `now` (unix ms); gives the bucket that took it. */
  readonly add: (now: number, amount: number) => number;
  /** Gives back to the bucket that `add` named, while the window still holds it. */
  readonly refund: (now: number, bucket: number, amount: number) => void;
  readonly sum: (now: number) => number;
  /** Bucket of `now`, without taking. */
  readonly bucket: (now: number) => number;
  /** Milliseconds until the window is wholly free; 0 when it is. */
  readonly resetMs: (now: number) => number;
  /** Milliseconds until `need` has fallen out of it. */
  readonly waitMs: (now: number, need: number) => number;
}

/** The counterpart of `lua/counters.lua`: same buckets, same answers. */
export function createSlidingWindow({ seconds }: { readonly seconds: number }): SlidingWindow {
  const width = Math.ceil(seconds / BUCKETS);
  const span = Math.ceil(seconds / width) + 1;
  const buckets = new Map<number, number>();
  let total = 0;
  let upto = 0;
  let last = 0;

  /** A clock that goes back leaves the window where it is, or it would be given out twice. */
  function advance(now: number): number {
    const tick = Math.max(upto, Math.floor(now / 1000 / width));
    if (tick - upto >= span) {
      buckets.clear();
      total = 0;
    } else {
      for (let b = upto - span + 1; b <= tick - span; b += 1) {
        total -= buckets.get(b) ?? 0;
        buckets.delete(b);
      }
    }
    upto = tick;
    return tick;
  }
  const endOf = (bucket: number): number => (bucket + span) * width * 1000;

  return {
    add: (now, amount) => {
      const tick = advance(now);
      if (amount === 0 || total > Number.MAX_SAFE_INTEGER - amount) return tick;
      buckets.set(tick, (buckets.get(tick) ?? 0) + amount);
      total += amount;
      last = tick;
      return tick;
    },
    refund: (now, bucket, amount) => {
      advance(now);
      const held = buckets.get(bucket);
      if (held === undefined) return;
      const back = Math.min(held, amount);
      total -= back;
      if (back === held) buckets.delete(bucket);
      else buckets.set(bucket, held - back);
    },
    sum: (now) => {
      advance(now);
      return total;
    },
    bucket: advance,
    resetMs: (now) => {
      advance(now);
      return total === 0 ? 0 : Math.max(0, endOf(last) - now);
    },
    waitMs: (now, need) => {
      const tick = advance(now);
      let rest = need;
      for (let b = tick - span + 1; b <= tick; b += 1) {
        rest -= buckets.get(b) ?? 0;
        if (rest <= 0) return endOf(b) - now;
      }
      return endOf(tick) - now;
    },
  };
}
