/**
 * Orders items by chance: each place is drawn from those left, by share of their weights. So the first is any item with
 * probability weight / sum, and the rest follow by the same rule. Items of weight 0 come last, as written.
 * @param random - Gives numbers in [0, 1).
 */
export function weightedOrder<T>(
  items: readonly T[],
  weightOf: (item: T) => number,
  random: () => number,
): readonly T[] {
  const weighed = items.map((item) => ({ item, weight: weightOf(item) }));
  const left = weighed.filter(({ weight }) => weight > 0);
  const ordered: typeof weighed = [];
  while (left.length > 1) {
    const total = left.reduce((sum, { weight }) => sum + weight, 0);
    let point = random() * total;
    let at = 0;
    // The last one takes what rounding leaves.
    for (; at < left.length - 1; at += 1) {
      point -= left[at]?.weight ?? 0;
      if (point < 0) break;
    }
    ordered.push(...left.splice(at, 1));
  }
  return [...ordered, ...left, ...weighed.filter(({ weight }) => !(weight > 0))].map(({ item }) => item);
}
