import { createBlockCache, type BlockCache } from '../engine/block-cache.ts';
import type { HostFacts } from '../engine/policy.ts';

/** What a router believes to be in the hosts' prefix caches, from what it sent there. */
export interface PrefixMap {
  /** Part of the prompt's blocks that the host has, 0 to 1. */
  readonly match: (host: number, blocks: readonly number[]) => number;
  readonly sent: (host: number, blocks: readonly number[]) => void;
}

export function createPrefixMap(hosts: readonly HostFacts[]): PrefixMap {
  const caches: readonly BlockCache[] = hosts.map(({ cacheBlocks }) => createBlockCache({ capacity: cacheBlocks }));
  return {
    match: (host, blocks) => (caches[host]?.match(blocks) ?? 0) / Math.max(1, blocks.length),
    sent: (host, blocks) => caches[host]?.use(blocks),
  };
}
