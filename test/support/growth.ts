/** Rounds after which what looks linear is believed, and after which what does not is. */
const ROUNDS = { least: 9, most: 60 };
const LINEAR = 2.4;

/**
 * How many times longer work takes that is twice as large: 2 is linear, 4 is quadratic. The best of interleaved rounds each, so
 * that a busy machine slows both or neither; more of them while it does not look linear.
 * @param prepare - Makes the work of a size; only what it returns is timed.
 */
export function growth(prepare: (size: number) => () => void, size: number): number {
  const [small, large] = [prepare(size), prepare(size * 2)];
  const best = { small: Infinity, large: Infinity };
  for (let round = 1; round <= ROUNDS.most; round += 1) {
    best.small = Math.min(best.small, timeOf(small));
    best.large = Math.min(best.large, timeOf(large));
    if (round >= ROUNDS.least && best.large < LINEAR * best.small) break;
  }
  return best.large / best.small;
}

function timeOf(work: () => void): number {
  const from = performance.now();
  work();
  return performance.now() - from;
}
