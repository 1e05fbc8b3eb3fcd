/** Where values lie: `ticks` from 0 to `max`, all of them round. */
export interface Scale {
  readonly max: number;
  readonly ticks: readonly number[];
}

/** Less than any figure that is shown. */
const LEAST = 1e-9;
const ROUND = [1, 2, 2.5, 5, 10];

/** A scale from 0 that holds `largest` in about `parts` round steps. What is no number, or not above 0, gives 0 to 1. */
export function scaleFor(largest: number, parts = 4): Scale {
  const top = Number.isFinite(largest) && largest > LEAST ? largest : 0;
  if (top === 0) return { max: 1, ticks: [0, 1] };
  const rough = top / parts;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = (ROUND.find((round) => round * power >= rough * (1 - 1e-9)) ?? 10) * power;
  const steps = Math.max(1, Math.ceil(top / step - 1e-9));
  const ticks = Array.from({ length: steps + 1 }, (_none, at) => Number((at * step).toPrecision(12)));
  return { max: ticks.at(-1) ?? 1, ticks };
}

/** Maps a value from one range onto another; outside of it, to the nearer end. */
export function linear(from: readonly [number, number], to: readonly [number, number]): (value: number) => number {
  const width = from[1] - from[0];
  return (value) => {
    const share = width === 0 || !Number.isFinite(value) ? 0 : (value - from[0]) / width;
    return to[0] + Math.max(0, Math.min(1, share)) * (to[1] - to[0]);
  };
}

/** Every which of `total` labels can stand in `width` when each takes `each`. At least 1. */
export function labelStep(total: number, width: number, each: number): number {
  return Math.max(1, Math.ceil((total * each) / Math.max(1, width)));
}

/** A coordinate for markup: two digits are finer than any screen. */
export const px = (value: number): string => String(Math.round(value * 100) / 100);
