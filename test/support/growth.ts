/**
 * How many times longer work takes that is twice as large: 2 is linear, 4 is quadratic. The best of nine interleaved rounds each,
 * so that a busy machine slows both or neither.
 * @param prepare - Makes the work of a size; only what it returns is timed.
 */
export function growth(prepare: (size: number) => () => void, size: number): number {
  const [small, large] = [prepare(size), prepare(size * 2)];
  const best = { small: Infinity, large: Infinity };
  for (let round = 0; round < 9; round += 1) {
    best.small = Math.min(best.small, timeOf(small));
    best.large = Math.min(best.large, timeOf(large));
  }
  return best.large / best.small;
}

function timeOf(work: () => void): number {
  const from = performance.now();
  work();
  return performance.now() - from;
}
