/** Centres of groups of points of one width, all in one array. */
export interface Centres {
  readonly width: number;
  /** Centre by centre. */
  readonly values: Float64Array;
}

const ROUNDS = 50;

export interface Grouping {
  /** Rows of `width` in one array. */
  readonly points: Float64Array;
  readonly width: number;
  readonly count: number;
  /** Numbers in [0, 1). */
  readonly random: () => number;
}

/**
 * Points in at most `count` groups, each point with its nearest centre. Points are rows of `width` in one array. Begins with points that lie
 * far from those chosen before, drawn by `random`; empty groups are left out.
 */
export function kMeans({ points, width, count, random }: Grouping): Centres {
  const many = points.length / width;
  let values = seeds({ points, width, count: Math.min(count, many), random });
  for (let round = 0; round < ROUNDS; round += 1) {
    const sums = new Float64Array(values.length);
    const counts = new Int32Array(values.length / width);
    for (let row = 0; row < many; row += 1) {
      const group = closest(points, row, values, width).at;
      counts[group] = (counts[group] as number) + 1;
      for (let at = 0; at < width; at += 1)
        sums[group * width + at] = (sums[group * width + at] as number) + (points[row * width + at] as number);
    }
    const next: number[] = [];
    for (const [group, n] of counts.entries())
      if (n > 0) for (let at = 0; at < width; at += 1) next.push((sums[group * width + at] as number) / n);
    const isStill =
      next.length === values.length && next.every((value, at) => Math.abs(value - (values[at] as number)) < 1e-9);
    values = Float64Array.from(next);
    if (isStill) break;
  }
  return { width, values };
}

function closest(
  points: Float64Array,
  row: number,
  centres: Float64Array,
  width: number,
): { readonly at: number; readonly distance: number } {
  let best = 0;
  let least = Infinity;
  for (let centre = 0; centre * width < centres.length; centre += 1) {
    let distance = 0;
    for (let at = 0; at < width; at += 1)
      distance += ((points[row * width + at] as number) - (centres[centre * width + at] as number)) ** 2;
    if (distance < least) {
      least = distance;
      best = centre;
    }
  }
  return { at: best, distance: least };
}

/** The first by chance, each further one with a chance that grows with the square of its distance to those before. */
function seeds({ points, width, count, random }: Grouping): Float64Array {
  const many = points.length / width;
  if (many === 0) return new Float64Array(0);
  const first = Math.floor(random() * many);
  const chosen = [...points.subarray(first * width, (first + 1) * width)];
  const far = new Float64Array(many).fill(Infinity);
  for (let made = 1; made < count; made += 1) {
    const last = Float64Array.from(chosen.slice(-width));
    let sum = 0;
    for (let row = 0; row < many; row += 1) {
      far[row] = Math.min(far[row] as number, closest(points, row, last, width).distance);
      sum += far[row] as number;
    }
    if (sum === 0) break;
    let left = random() * sum;
    let row = 0;
    while (row < many - 1 && left >= (far[row] as number)) {
      left -= far[row] as number;
      row += 1;
    }
    chosen.push(...points.subarray(row * width, (row + 1) * width));
  }
  return Float64Array.from(chosen);
}
