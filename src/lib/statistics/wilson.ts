/** Bounds of a share of which `hits` of `total` were seen: Wilson's interval, `z` standard deviations to each side. */
export interface Bounds {
  readonly low: number;
  readonly high: number;
}

/** Of nothing, everything is possible. */
export function wilson(hits: number, total: number, z: number): Bounds {
  if (total <= 0) return { low: 0, high: 1 };
  const share = hits / total;
  const square = z * z;
  const middle = (share + square / (2 * total)) / (1 + square / total);
  const half = (z * Math.sqrt((share * (1 - share)) / total + square / (4 * total * total))) / (1 + square / total);
  return { low: hits <= 0 ? 0 : Math.max(0, middle - half), high: hits >= total ? 1 : Math.min(1, middle + half) };
}

/** How much greater the first share is than the second at the least: Newcombe's interval of the difference (method 10). */
export function leastDifference(
  [hits, total]: readonly [hits: number, total: number],
  [otherHits, otherTotal]: readonly [hits: number, total: number],
  z: number,
): number {
  if (total <= 0 || otherTotal <= 0) return -1;
  const share = hits / total;
  const other = otherHits / otherTotal;
  const { low } = wilson(hits, total, z);
  const { high } = wilson(otherHits, otherTotal, z);
  return share - other - Math.hypot(share - low, high - other);
}
