import { seededRandom } from '../hash32/seeded-random.ts';

/**
 * A fold for each row, 0 to `folds` - 1, by chance from a seed and of about the same size. Rows of one group are in one fold; without groups
 * each row is one of its own.
 */
export function foldsOf(
  groups: readonly (string | number)[],
  { folds, seed }: { readonly folds: number; readonly seed: number },
): Int32Array {
  const rows = new Map<string | number, number[]>();
  for (const [row, group] of groups.entries()) {
    const known = rows.get(group);
    if (known === undefined) rows.set(group, [row]);
    else known.push(row);
  }
  const order = shuffled([...rows.values()], seededRandom(seed)).toSorted((a, b) => b.length - a.length);
  const sizes = new Int32Array(folds);
  const of = new Int32Array(groups.length);
  // The largest groups first, each into the smallest fold.
  for (const group of order) {
    let least = 0;
    for (let fold = 1; fold < folds; fold += 1) if ((sizes[fold] as number) < (sizes[least] as number)) least = fold;
    sizes[least] = (sizes[least] as number) + group.length;
    for (const row of group) of[row] = least;
  }
  return of;
}

function shuffled<T>(values: readonly T[], random: () => number): T[] {
  const mixed = [...values];
  for (let at = mixed.length - 1; at > 0; at -= 1) {
    const other = Math.floor(random() * (at + 1));
    [mixed[at], mixed[other]] = [mixed[other] as T, mixed[at] as T];
  }
  return mixed;
}
