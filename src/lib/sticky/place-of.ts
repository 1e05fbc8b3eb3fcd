import { fnv1a, mixed } from '../hash32/hash32.ts';

/** A name's 32 bits, spread evenly also for names that are alike. */
function bitsOf(name: string): number {
  return mixed(fnv1a(name));
}

/** A name's fixed place in [0, 1), spread evenly: a larger share holds whoever is in a smaller one. */
export function placeOf(name: string): number {
  return bitsOf(name) / 2 ** 32;
}

/** Numbers in [0, 1), the same sequence each time for the same name (mulberry32). */
export function drawsOf(name: string): () => number {
  let state = bitsOf(name);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
