import type { References, Variable } from './compile-match.ts';

/** Everything that any of some expressions reads. */
export function unionOf(all: readonly References[]): References {
  const read = (variable: Variable): ReadonlySet<string> | 'all' => {
    const sets = all.map((references) => references[variable]);
    return sets.includes('all') ? 'all' : new Set(sets.flatMap((set) => (set === 'all' ? [] : [...set])));
  };
  return { request: read('request'), tenant: read('tenant'), claims: read('claims'), headers: read('headers') };
}
