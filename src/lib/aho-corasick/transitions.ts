import type { Trie } from './trie.ts';

/** Every step of an automaton worked out beforehand: one look-up a unit. */
export interface Transitions {
  /**
   * At `from + c`, where a node's row begins at its number times `width`: where the row begins to which class `c` leads, as
   * its complement (below 0) where a word ends there, be it a shorter one. Class 0 leads back to the root.
   */
  readonly rows: Int32Array;
  readonly width: number;
}

/** Larger tables would not fit the processor's caches, and take megabytes a filter. */
const MAX_CELLS = 1 << 20;

/** The table for a trie with failure links `fail`, nodes by depth in `order`; null where it would be too large. */
export function transitions(trie: Trie, fail: Int32Array, order: Int32Array): Transitions | null {
  const { size, classCount: width, parent, via, word } = trie;
  if (size * width > MAX_CELLS) return null;
  const rows = new Int32Array(size * width);
  const ends = new Uint8Array(size);
  const firstChild = new Int32Array(size);
  const sibling = new Int32Array(size);
  for (let node = 1; node < size; node++) {
    const above = parent[node] ?? 0;
    sibling[node] = firstChild[above] ?? 0;
    firstChild[above] = node;
  }
  // By depth, so that the row of a shorter node is whole when a longer one begins with it.
  for (const node of order) {
    const suffix = (fail[node] ?? 0) * width;
    if (node !== 0) rows.copyWithin(node * width, suffix, suffix + width);
    for (let child = firstChild[node] ?? 0; child !== 0; child = sibling[child] ?? 0) {
      ends[child] = word[child] === -1 ? (ends[fail[child] ?? 0] ?? 0) : 1;
      const row = child * width;
      rows[node * width + (via[child] ?? 0)] = ends[child] === 0 ? row : ~row;
    }
  }
  return { rows, width };
}
