/**
 * The lowest share that `hits` of `total` are believable for (Wilson's score interval).
 * @param z - Standard deviations of doubt: 1.96 for 95 %.
 */
export function wilsonLower(hits: number, total: number, z: number): number {
  if (total === 0) return 0;
  const share = hits / total;
  const doubt = (z * z) / total;
  const centre = share + doubt / 2;
  const margin = z * Math.sqrt((share * (1 - share) + doubt / 4) / total);
  return Math.max(0, (centre - margin) / (1 + doubt));
}
