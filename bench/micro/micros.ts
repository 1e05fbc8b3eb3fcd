import { median } from '../sim/engine/figures.ts';

/** Median of 15 rounds, microseconds a call. */
export function micros(work: () => void, times: number): number {
  const rounds: number[] = [];
  for (let round = 0; round < 15; round += 1) {
    const began = performance.now();
    for (let time = 0; time < times; time += 1) work();
    rounds.push(((performance.now() - began) * 1000) / times);
  }
  return median(rounds);
}
