const ROUNDS = 41;

/**
 * The best round of each, microseconds a call, in turn within one run: what else runs on the machine hits both alike, and the
 * best round had least of it.
 */
export function sideBySide(works: readonly (() => void)[], times: number): readonly number[] {
  const best = works.map(() => Infinity);
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [at, work] of works.entries()) {
      const began = performance.now();
      for (let time = 0; time < times; time += 1) work();
      best[at] = Math.min(best[at] ?? Infinity, ((performance.now() - began) * 1000) / times);
    }
  return best;
}
