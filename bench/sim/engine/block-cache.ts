/** Prefix blocks that a host remembers, the least recently used dropped first. */
export interface BlockCache {
  /** How many of the first blocks are there, without touching them. */
  readonly match: (blocks: readonly number[]) => number;
  /** Remembers all blocks as just used. */
  readonly use: (blocks: readonly number[]) => void;
  readonly size: () => number;
}

export function createBlockCache({ capacity }: { readonly capacity: number }): BlockCache {
  const used = new Set<number>();
  return {
    size: () => used.size,
    match: (blocks) => {
      let count = 0;
      while (count < blocks.length && used.has(blocks[count] ?? -1)) count += 1;
      return count;
    },
    use: (blocks) => {
      // From the last to the first: a block is of no use without those before it, so the first must live longest.
      for (let at = blocks.length - 1; at >= 0; at -= 1) {
        const block = blocks[at];
        if (block === undefined) continue;
        used.delete(block);
        used.add(block);
      }
      for (const oldest of used) {
        if (used.size <= capacity) return;
        used.delete(oldest);
      }
    },
  };
}
