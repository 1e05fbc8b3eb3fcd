/**
 * A histogram with logarithmic buckets: the middle of a bucket is at most 2 % from any value in it. All histograms have the
 * same buckets, so that two are merged by adding their counts. The layout is that of DDSketch
 * (https://arxiv.org/abs/1908.10693), with a fixed range.
 */

/** Values up to this one are in the first bucket: a tenth of a millisecond, for milliseconds. */
const LEAST = 0.1;
const GAMMA = 1.04;
const LOG_GAMMA = Math.log(GAMMA);
/** From `LEAST` to an hour in milliseconds; what is greater counts as the greatest. */
export const BUCKETS = 2 + Math.ceil(Math.log(3_600_000 / LEAST) / LOG_GAMMA);

/** The bucket of a value. What is no number, or less than nothing, counts as nothing. */
export function bucketOf(value: number): number {
  if (!(value > LEAST)) return 0;
  return Math.min(BUCKETS - 1, Math.ceil(Math.log(value / LEAST) / LOG_GAMMA));
}

/** What the values of a bucket are taken for. */
export function valueOf(bucket: number): number {
  return bucket === 0 ? LEAST : (LEAST * 2 * GAMMA ** bucket) / (GAMMA + 1);
}

/** The value that a part `share` (0..1) of all counted ones does not exceed; null for an empty histogram. */
export function quantileOf(counts: ArrayLike<number>, share: number): number | null {
  let total = 0;
  for (let bucket = 0; bucket < counts.length; bucket += 1) total += counts[bucket] ?? 0;
  if (total === 0) return null;
  const rank = Math.max(1, Math.ceil(share * total));
  let seen = 0;
  for (let bucket = 0; bucket < counts.length; bucket += 1) {
    seen += counts[bucket] ?? 0;
    if (seen >= rank) return valueOf(bucket);
  }
  return valueOf(counts.length - 1);
}

/** The buckets that are not empty, as `bucket, count, bucket, count, …`. */
export function sparseOf(counts: ArrayLike<number>): number[] {
  const sparse: number[] = [];
  for (let bucket = 0; bucket < counts.length; bucket += 1) {
    const count = counts[bucket] ?? 0;
    if (count > 0) sparse.push(bucket, count);
  }
  return sparse;
}

/** Merges what `sparseOf` gave into `counts`. Buckets that are not there are passed over. */
export function addSparse(counts: Float64Array, sparse: readonly number[]): void {
  for (let at = 0; at + 1 < sparse.length; at += 2) {
    const bucket = sparse[at] ?? -1;
    if (bucket >= 0 && bucket < counts.length) counts[bucket] = (counts[bucket] ?? 0) + (sparse[at + 1] ?? 0);
  }
}
