/** Edges of a trie: from a node, over a class of units, to a node. */
export interface EdgeTable {
  /** The target, or -1. */
  get(node: number, unitClass: number): number;
  /** The edge must not be there yet, and no more edges may be set than were announced. */
  set(node: number, unitClass: number, target: number): void;
}

/**
 * Edges by open addressing in three typed arrays, at most half full. A full table of node × class would be gigabytes for
 * ten thousand words over a large alphabet; objects and maps cost ten times the space and time of this.
 */
export function createEdgeTable(edges: number): EdgeTable {
  const slots = 2 ** Math.ceil(Math.log2(Math.max(8, edges * 2)));
  const mask = slots - 1;
  const nodes = new Int32Array(slots).fill(-1);
  const classes = new Uint16Array(slots);
  const targets = new Int32Array(slots);

  function hash(node: number, unitClass: number): number {
    const mixed = Math.imul(node, 0x9e3779b1) ^ Math.imul(unitClass, 0x85ebca6b);
    return (mixed ^ (mixed >>> 15)) & mask;
  }

  return {
    get(node, unitClass) {
      let slot = hash(node, unitClass);
      for (;;) {
        const there = nodes[slot] ?? -1;
        if (there === -1) return -1;
        if (there === node && classes[slot] === unitClass) return targets[slot] ?? -1;
        slot = (slot + 1) & mask;
      }
    },
    set(node, unitClass, target) {
      let slot = hash(node, unitClass);
      while (nodes[slot] !== -1) slot = (slot + 1) & mask;
      nodes[slot] = node;
      classes[slot] = unitClass;
      targets[slot] = target;
    },
  };
}
