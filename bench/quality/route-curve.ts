import { seededRandom } from '../../src/lib/hash32/seeded-random.ts';
import { deviation } from '../sim/engine/figures.ts';
import type { PairItem } from './read-items.ts';

/** How quality rises with the share of questions that the strong model gets. */
export interface Curve {
  /** Mean part of the gap between weak and strong that is recovered, over all shares: 0.5 by chance, 1 is a strong model for free. */
  readonly apgr: number;
  /** The share that the strong model needs to recover half of the gap, and four fifths of it. */
  readonly cpt50: number;
  readonly cpt80: number;
  /** `[share, part recovered]`, from `[0, 0]` to `[1, 1]`. */
  readonly points: readonly (readonly [number, number])[];
}

/**
 * Sends questions to the strong model by descending score. Questions of equal score go in no order: between the ends of such a run the curve
 * is a straight line.
 */
export function routeCurve(items: readonly Pick<PairItem, 'weak' | 'strong'>[], scores: ArrayLike<number>): Curve {
  const order = Array.from(items, (_, at) => at).toSorted((a, b) => (scores[b] as number) - (scores[a] as number));
  const gain = (at: number): number => {
    const { weak, strong } = items[at] as PairItem;
    return strong - weak;
  };
  const gap = order.reduce((sum, at) => sum + gain(at), 0);
  const points: [number, number][] = [[0, 0]];
  let recovered = 0;
  for (let at = 0; at < order.length;) {
    const score = scores[order[at] as number];
    let end = at;
    while (end < order.length && scores[order[end] as number] === score) {
      recovered += gain(order[end] as number);
      end += 1;
    }
    points.push([end / order.length, recovered / gap]);
    at = end;
  }
  let apgr = 0;
  for (let at = 1; at < points.length; at += 1) {
    const [[x0, y0], [x1, y1]] = [points[at - 1] as [number, number], points[at] as [number, number]];
    apgr += ((y0 + y1) / 2) * (x1 - x0);
  }
  return { apgr, cpt50: shareFor(points, 0.5), cpt80: shareFor(points, 0.8), points };
}

function shareFor(points: readonly (readonly [number, number])[], part: number): number {
  for (let at = 1; at < points.length; at += 1) {
    const [x0, y0] = points[at - 1] as readonly [number, number];
    const [x1, y1] = points[at] as readonly [number, number];
    if (y1 >= part) return y1 === y0 ? x1 : x0 + ((part - y0) / (y1 - y0)) * (x1 - x0);
  }
  return 1;
}

/** Standard error of the APGR, by drawing as many items anew. */
export function errorOfApgr(items: readonly PairItem[], scores: ArrayLike<number>, rounds = 100): number {
  const random = seededRandom(5);
  const values = Array.from({ length: rounds }, () => {
    const drawn = Array.from(items, () => Math.floor(random() * items.length));
    return routeCurve(
      drawn.map((at) => items[at] as PairItem),
      drawn.map((at) => scores[at] as number),
    ).apgr;
  });
  return deviation(values);
}
