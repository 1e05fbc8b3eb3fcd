import { createEdgeTable } from './edge-table.ts';

const UNITS = 65_536;

/** The nodes of all words as a tree. */
export interface Trie {
  readonly classes: Uint16Array;
  readonly classCount: number;
  readonly child: (node: number, unitClass: number) => number;
  /** Nodes in order of creation, parents first. */
  readonly parent: Int32Array;
  readonly via: Uint16Array;
  readonly depth: Int32Array;
  /** The word that ends at a node, else -1. */
  readonly word: Int32Array;
  readonly size: number;
}

/** The tree of `words`; `units`: code units of all words together. */
export function buildTrie(words: readonly string[], units: number): Trie {
  const classes = new Uint16Array(UNITS);
  const parent = new Int32Array(units + 1);
  const via = new Uint16Array(units + 1);
  const depth = new Int32Array(units + 1);
  const word = new Int32Array(units + 1).fill(-1);
  const edges = createEdgeTable(units);
  let classCount = 1;
  let size = 1;
  for (let w = 0; w < words.length; w++) {
    const text = words[w] ?? '';
    let node = 0;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      let unitClass = classes[unit] ?? 0;
      if (unitClass === 0) {
        unitClass = classCount++;
        classes[unit] = unitClass;
      }
      let next = edges.get(node, unitClass);
      if (next < 0) {
        next = size++;
        parent[next] = node;
        via[next] = unitClass;
        depth[next] = i + 1;
        edges.set(node, unitClass, next);
      }
      node = next;
    }
    // The first of equal words stands; an empty word would match everywhere and is left out.
    if (node !== 0 && word[node] === -1) word[node] = w;
  }
  return {
    classes,
    classCount,
    child: (from, unitClass) => edges.get(from, unitClass),
    parent,
    via,
    depth,
    word,
    size,
  };
}
