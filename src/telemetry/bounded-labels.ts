/** Gives `value` while few values are known, else `other`. */
export type LabelBound = (value: string) => string;

const MAX_LENGTH = 128;

/** A label that takes at most `most` different values and then says `other`: series cost memory for ever. */
export function createLabelBound(most: number): LabelBound {
  const known = new Set<string>();
  return (value) => {
    const short = value.slice(0, MAX_LENGTH);
    if (known.has(short)) return short;
    if (known.size >= most) return 'other';
    known.add(short);
    return short;
  };
}
